#!/usr/bin/env python3
"""docs/cli.md must name each command and option that there is: commands.py FLC CLI_MD CLI_H."""
import re
import subprocess
import sys
from pathlib import Path


def help_of(flc, *words):
    return subprocess.run([flc, *words, "--help"], check=True, text=True, stdout=subprocess.PIPE).stdout


def long_options(text):
    return set(re.findall(r"--[a-z][a-z0-9-]*", text))


def main():
    flc, document, runtime_options = sys.argv[1:]
    text = Path(document).read_text(encoding="utf-8")
    sections = dict(re.findall(r"^## (\w+)\n(.*?)(?=^## |\Z)", text, re.S | re.M))
    missing = []
    for command in re.findall(r"^  (\w+) ", help_of(flc), re.M):
        if command not in sections:
            missing.append(f"flc {command}")
            continue
        for option in long_options(help_of(flc, command)) - {"--help"}:
            if option not in long_options(sections[command]):
                missing.append(f"{option} of flc {command}")
    table = Path(runtime_options).read_text(encoding="utf-8")
    for option in re.findall(r'^  \{ (?:0|\'.\'), "([a-z-]+)"', table, re.M):
        if f"--{option}" not in long_options(text):
            missing.append(f"--{option} of executables")
    for line in missing:
        print(f"{document} does not mention {line}")
    sys.exit(1 if missing else 0)


if __name__ == "__main__":
    main()
