#!/usr/bin/env python3
"""Runs the examples of documents: examples.py FLC [--shell] DOCUMENT...

Of the fenced blocks of a document, in order and in one folder,
  ```fl [FILE]     is a program.  With a test block its tests must pass, otherwise it must be free of
                   errors and warnings.  It is kept as FILE for later blocks.
  ```fl            with lines `> EXPRESSION` is a session: each expression must have the value that
                   follows it.  Definitions may come first.  `error: TEXT` stands for a run-time error.
  ```console       holds command lines `$ ...` and what they print; `...` stands for any text, and alone
                   on a line for any lines.
With --shell, by hand, as they may need MPI and several devices, where programs may be shown behind their use:
  ```sh            holds command lines that must succeed
  ```c             is kept as main.c for later blocks.
"""
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

FENCE = re.compile(r"^```(fl|console|sh|c)(?: +(\S+))?\n(.*?)^```$", re.S | re.M)
TIME_LIMIT_S = 120


class Mismatch(Exception):
    """An example that does not do what the document says."""


def run(command, folder, flc):
    """Exit status and output, standard error included, without the end of the last line."""
    environment = os.environ | {"PATH": f"{flc.parent}:{os.environ['PATH']}"}
    done = subprocess.run(command, cwd=folder, env=environment, shell=True, text=True, check=False,
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          timeout=TIME_LIMIT_S)
    return done.returncode, done.stdout.rstrip("\n")


def check_program(path, folder, flc):
    if "-- ==\n" in (folder / path).read_text(encoding="utf-8"):
        status, output = run(f"flc test --no-device {path}", folder, flc)
        if status != 0 or output.startswith("0 passed"):
            raise Mismatch(output)
        return
    status, output = run(f"flc check {path}", folder, flc)
    if status != 0 or output:
        raise Mismatch(output)


def session_steps(text):
    """Definitions; and pairs of expressions and expected values."""
    definitions, *rest = re.split(r"^> ", text, flags=re.M)
    steps = []
    for part in rest:
        expression, _, expected = part.partition("\n")
        steps.append((expression, expected.strip()))
    return definitions, steps


def check_session(text, folder, flc):
    definitions, steps = session_steps(text)
    entries = [f"entry step_{i} = {expression}\n" for i, (expression, _) in enumerate(steps)]
    (folder / "session.fl").write_text(definitions + "\n" + "".join(entries), encoding="utf-8")
    for i, (expression, expected) in enumerate(steps):
        status, output = run(f"flc eval session.fl -e step_{i}", folder, flc)
        failure = re.match(r"error: (.*)", expected, re.S)
        if failure and status == 1 and failure[1] in output:
            continue
        if failure or output != expected or status != 0:
            raise Mismatch(f"{expression}\nexpected {expected}\ngot {output}")


def matches(expected, got):
    """Whether lines are as expected, where `...` stands for any text and a line of it for any lines."""
    def line_pattern(line):
        if line.strip() == "...":
            return r"(?:.*\n)*"
        return re.escape(line.rstrip()).replace(re.escape("..."), ".*") + r"[ ]*\n"

    pattern = "".join(line_pattern(line) for line in expected.splitlines())
    return re.fullmatch(pattern, "".join(f"{line}\n" for line in got.splitlines())) is not None


def check_console(text, folder, flc):
    for part in re.split(r"^\$ ", text, flags=re.M)[1:]:
        command, _, expected = part.partition("\n")
        _, output = run(command, folder, flc)
        if not matches(expected.rstrip("\n"), output):
            raise Mismatch(f"$ {command}\nexpected\n{expected}got\n{output}")


def check_shell(text, folder, flc):
    for command in re.findall(r"^\$ (.*)$", text, re.M):
        status, output = run(command, folder, flc)
        if status != 0:
            raise Mismatch(f"$ {command}\n{output}")


def check_block(kind, name, text, folder, flc):
    if kind == "console":
        check_console(text, folder, flc)
    elif kind == "sh":
        check_shell(text, folder, flc)
    elif kind == "c":
        (folder / "main.c").write_text(text, encoding="utf-8")
    elif text.startswith("> ") or "\n> " in text:
        check_session(text, folder, flc)
    else:
        path = name or "example.fl"
        (folder / path).write_text(text, encoding="utf-8")
        check_program(path, folder, flc)


def check_document(document, flc, shell):
    """Counts of the blocks that passed and failed."""
    text, passed, failed = document.read_text(encoding="utf-8"), 0, 0
    with tempfile.TemporaryDirectory() as folder:
        for kind, name, program in FENCE.findall(text) if shell else []:
            if kind == "fl" and name:
                (Path(folder) / name).write_text(program, encoding="utf-8")
        for block in FENCE.finditer(text):
            if block[1] in ("sh", "c") and not shell:
                continue
            try:
                check_block(*block.groups(), Path(folder), flc)
                passed += 1
            except (Mismatch, subprocess.TimeoutExpired) as mismatch:
                failed += 1
                line = text.count("\n", 0, block.start()) + 1
                print(f"{document}:{line}: {mismatch}\n", file=sys.stderr)
    return passed, failed


def main():
    shell = "--shell" in sys.argv
    flc, *documents = [Path(argument).resolve() for argument in sys.argv[1:] if argument != "--shell"]
    counts = [check_document(document, flc, shell) for document in documents]
    passed, failed = (sum(column) for column in zip(*counts))
    print(f"{passed} passed, {failed} failed")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
