#!/usr/bin/env python3
"""Lines of at most 100 columns, and contracts of what headers declare.

usage: layout.py [--list]

No line of the C sources is longer than 100 columns.  Of the functions that the headers of compiler/ and
tuner/ declare, at least LEAST in a hundred have a comment beside them or directly above.  Prints what
breaks this (with --list: every function without one); exit status 1 if something does.
"""
import pathlib
import re
import sys

COLUMNS, LEAST = 100, 60
ROOT = pathlib.Path(__file__).resolve().parents[2]
FOLDERS = ("compiler", "runtime", "tuner")
DECLARATION = re.compile(r"^(?!typedef|static|return|extern|//|#| )[A-Za-z_][\w \*]*?[ \*](\w+)\(")


def sources():
    for folder in FOLDERS:
        for path in sorted((ROOT / folder).rglob("*")):
            name = path.relative_to(ROOT).as_posix()
            if path.suffix in (".c", ".h", ".def") :
                yield name, path.read_text(encoding="utf-8").splitlines()


def declarations(lines):
    """The functions that a header declares: (line number, name, whether it has a comment)."""
    for at, line in enumerate(lines):
        match = DECLARATION.match(line)
        if not match:
            continue
        end = at
        while end < len(lines) - 1 and ";" not in lines[end] and "{" not in lines[end]:
            end += 1
        above = at > 0 and re.match(r"\s*//(?! ---)", lines[at - 1])
        yield at + 1, match.group(1), bool(above or "//" in lines[end])


def main():
    bad, found, bare = [], 0, []
    for name, lines in sources():
        bad += [f"{name}:{at}: {len(line)} columns" for at, line in enumerate(lines, 1) if len(line) > COLUMNS]
        if not name.endswith(".h") or name.startswith("runtime"):
            continue
        for at, function, commented in declarations(lines):
            found += 1
            if not commented:
                bare.append(f"{name}:{at}: {function}")
    percent = 100 * (found - len(bare)) // found
    if percent < LEAST:
        bad.append(f"{percent} % of the exported functions have a contract, {LEAST} % should")
    print("\n".join(bad + (bare if "--list" in sys.argv else [])))
    print(f"{found} functions in headers, {percent} % with a contract")
    return 1 if bad else 0


sys.exit(main())
