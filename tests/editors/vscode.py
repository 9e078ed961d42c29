#!/usr/bin/env python3
"""The client for VS Code, with stand-ins for the editor and its library: what it starts, and what it says without the
library.  Exit status 77 (skipped) without node.
"""
import json
import shutil
import subprocess
import sys
from pathlib import Path

EXTENSION = Path(__file__).resolve().parents[2] / "editors/vscode"
SCRIPT = """
const Module = require('module'), load = Module._load, seen = { messages: [] };
const vscode = { workspace: { getConfiguration: () => ({ get: () => process.argv[2] }),
    createFileSystemWatcher: pattern => ({ pattern }) },
  window: { showInformationMessage: text => seen.messages.push(text) } };
class LanguageClient {
  constructor(id, name, server, options) { Object.assign(seen, { server, options }); }
  async start() { seen.started = true; }
  stop() { seen.stopped = true; }
}
Module._load = (name, ...rest) => {
  if (name === 'vscode') return vscode;
  if (name !== 'vscode-languageclient/node') return load(name, ...rest);
  if (process.argv[1] === 'absent') throw new Error('not installed');
  return { LanguageClient };
};
const extension = require(process.argv[3]);
extension.activate().then(() => { extension.deactivate(); console.log(JSON.stringify(seen)); });
"""


def activated(library, flc):
    done = subprocess.run(["node", "-e", SCRIPT, library, flc, str(EXTENSION / "extension.js")], text=True, check=True,
                          stdout=subprocess.PIPE)
    return json.loads(done.stdout)


def main():
    if shutil.which("node") is None:
        sys.exit(77)
    about = json.loads((EXTENSION / "package.json").read_text(encoding="utf-8"))
    assert (EXTENSION / about["main"]).exists() and "vscode-languageclient" in about["dependencies"]
    seen = activated("there", "")
    assert seen["server"] == {"command": "flc", "args": ["lsp"]} and seen["started"] and seen["stopped"], seen
    assert seen["options"]["documentSelector"] == [{"language": about["contributes"]["languages"][0]["id"]}], seen
    assert activated("there", "/opt/flc")["server"]["command"] == "/opt/flc"
    seen = activated("absent", "")
    assert "npm install" in seen["messages"][0] and "server" not in seen, seen


if __name__ == "__main__":
    main()
