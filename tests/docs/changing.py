#!/usr/bin/env python3
"""Follows docs/changing.md: changing.py FLC ROOT.

The steps of "A new operator on scalars" are blocks of the page:
  ```after FILE: TEXT    lines to insert after the first line of FILE that begins with TEXT
  ```new FILE            a new file
Before them the compiler must refuse the new test; in a copy with all of them it must build without
warnings, and the new test and the operator's unit test must pass.  Every file that the page names must exist.
"""
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

STEP = re.compile(r"^( *)```(after|new) ([^\s:]+)(?:: ([^\n]*))?\n(.*?)^ *```$", re.S | re.M)
NAMED = re.compile(r"`((?:compiler|runtime|prelude|tests|docs)/[\w./-]*)`")
FOLDERS = ["bindings", "compiler", "runtime", "prelude", "tuner", "tests", "benchmarks", "examples"]


def fail(message):
    print(message)
    sys.exit(1)


def steps(page):
    for indent, kind, path, anchor, body in STEP.findall(page):
        lines = [line[len(indent):] for line in body.splitlines()]
        yield kind, path, anchor, lines


def insert(path, anchor, lines):
    text = path.read_text(encoding="utf-8").splitlines()
    at = [i for i, line in enumerate(text) if line.strip().startswith(anchor)]
    if not at:
        fail(f"{path}: no line begins with {anchor}")
    text[at[0] + 1:at[0] + 1] = lines
    path.write_text("\n".join(text) + "\n", encoding="utf-8")


def run(*command, **options):
    done = subprocess.run(command, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False, **options)
    return done.returncode, done.stdout


def copy_sources(root, to):
    for folder in FOLDERS:
        shutil.copytree(root / folder, to / folder)
    for name in ["meson.build", "meson_options.txt", "README.md", "LICENSE"]:
        shutil.copy(root / name, to / name)
    shutil.copytree(root / "docs", to / "docs")


def build(folder):
    status, output = run("meson", "setup", "build", "-Dbuildtype=plain", "-Doptimization=0", cwd=folder)
    if status:
        fail(output)
    status, output = run("ninja", "-C", "build", "flc", "test_base_prim", cwd=folder)
    if status or "warning:" in output:
        fail(output)


def main():
    flc, root = sys.argv[1], Path(sys.argv[2])
    page = (root / "docs/changing.md").read_text(encoding="utf-8")
    found = list(steps(page))
    made = [path for kind, path, _, _ in found if kind == "new"]
    for path in NAMED.findall(page):
        if not (root / path).exists() and path not in made:
            fail(f"docs/changing.md names {path}, which does not exist")
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder)
        copy_sources(root, copy)
        for kind, path, anchor, lines in found:
            if kind == "new":
                (copy / path).write_text("\n".join(lines) + "\n", encoding="utf-8")
        if run(flc, "check", str(copy / made[0]))[0] != 1:
            fail(f"{made[0]} is accepted before any step is done")
        for kind, path, anchor, lines in found:
            if kind == "after":
                insert(copy / path, anchor, lines)
        build(copy)
        environment = {**os.environ, "XDG_CACHE_HOME": str(copy / "cache"), "FLC_CHECK_IR": "1"}
        for command in [["build/flc", "test", *made], ["build/test_base_prim"]]:
            status, output = run(*command, cwd=copy, env=environment)
            if status:
                fail(output)
    print(f"{len(found)} steps")


if __name__ == "__main__":
    main()
