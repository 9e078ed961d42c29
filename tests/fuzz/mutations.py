#!/usr/bin/env python3
"""Mutates accepted programs in ways that make them wrong: mutations.py FLC [--count N] [--seed S] FILE...

A mutant drops the `*` of a parameter, gives a `val` of a module type another scalar type, or makes the
declared size of a result one larger.  Each must be refused, and without an internal error.  A mutant that
is accepted is printed: its program may not need what was changed.
"""
import argparse
import random
import re
import subprocess
import sys
import tempfile
from pathlib import Path

MUTATIONS = {
    "star": (re.compile(r"\(\w+: (\*)"), ""),
    "val": (re.compile(r"val [^\n]*?\b(i32|f32|i64)\b"), "u16"),
    "size": (re.compile(r"\) ?: \*?\[([nmk])\](?=[\[\(a-z])[^=\n]*="), r"\1 + 1"),
}


def mutants(path):
    """The program's mutants as (kind, line, text)."""
    text = path.read_text(encoding="utf-8")
    for kind, (pattern, replacement) in MUTATIONS.items():
        for match in pattern.finditer(text):
            start, end = match.span(1)
            line_start = text.rfind("\n", 0, start) + 1
            if text[line_start:start].lstrip().startswith("--"):
                continue
            new = replacement.replace(r"\1", match.group(1))
            yield kind, text.count("\n", 0, start) + 1, text[:start] + new + text[end:]


def is_refused(flc, path, text):
    """Whether the text is refused; imports are found from where the program stands."""
    with tempfile.NamedTemporaryFile("w", suffix=".fl", dir=path.parent, encoding="utf-8") as file:
        file.write(text)
        file.flush()
        done = subprocess.run([flc, "check", file.name], capture_output=True, text=True, check=False)
    return done.returncode == 1


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("flc")
    parser.add_argument("--count", type=int, default=300)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("files", nargs="+", type=Path)
    args = parser.parse_args()
    every = [(path, *mutant) for path in args.files for mutant in mutants(path)]
    random.Random(args.seed).shuffle(every)
    chosen, accepted = every[:args.count], 0
    for path, kind, line, text in chosen:
        if is_refused(args.flc, path, text):
            continue
        accepted += 1
        print(f"{path}:{line}: {kind}: not refused")
    print(f"{len(chosen) - accepted} of {len(chosen)} mutants refused")
    sys.exit(accepted > 0)


if __name__ == "__main__":
    main()
