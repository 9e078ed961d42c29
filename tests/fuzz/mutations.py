#!/usr/bin/env python3
"""Mutates accepted programs in ways that make them wrong: mutations.py FLC [--count N] [--seed S] FILE...

A mutant changes a type, a size, a name or what is consumed (see MUTATIONS).  Each must be refused, without
an internal error and with few messages.  A mutant that is accepted is printed: its program may not need
what was changed.
"""
import argparse
import random
import re
import subprocess
import sys
import tempfile
from pathlib import Path

SCALAR = r"(?:i8|i16|i32|i64|u8|u16|u32|u64|f16|f32|f64|bool)"
MOST_ERRORS = 6

# A pattern, the number of the group that is replaced, and what stands in its place.
MUTATIONS = {
    "star": (r"\(\w+: (\*)", 1, ""),
    "val": (r"val [^\n]*?\b(i32|f32|i64)\b", 1, "u16"),
    "size": (r"\) ?: \*?\[([nmk])\](?=[\[\(a-z])[^=\n]*=", 1, r"\g<1> + 1"),
    "size parameter": (r"(?:def|entry|let) \w+ ((?:\[\w+\] ?)+)[(']", 1, ""),
    "parameter": (r"\(\w+: \*?(?:\[\w*\])*(" + SCALAR + r")\)", 1, "(f16, bool)"),
    "result": (r"\) ?: \*?(?:\[[\w ]*\])*(" + SCALAR + r") =", 1, "(f16, bool)"),
    "let": (r"\n *let (\w+) = ", 1, r"\g<1> : [7][8](f16, bool)"),
    "constructor": (r"#([a-z]\w*)", 1, r"\g<1>_"),
    "field": (r"(?<=[a-z)])\.([a-z]\w*)\b", 1, r"\g<1>_"),
    "component": (r"(?<=[a-z)])\.([0-9])\b", 1, "97"),
    "bracket": (r"([()\[\]{}])", 1, ""),
    "consumed twice": (
        r"\n( *)(let (\w+)\[[^\]\n:]*\] = [^\n]*)(?=\n *(?:let|in)\b)", 2,
        r"let old_ = \g<3>\n\g<1>\g<2>\n\g<1>let old_[0] = old_[0]"),
    "used after": (
        r"(?:def|entry) \w+ [^=\n]*\((\w+): \*\[\w*\][^\n=]*=\n( *)()", 3,
        r"let _ = \g<1> with [0] = \g<1>[0]\n\g<2>let _ = \g<1>[0]\n\g<2>in "),
    "observed": (
        r"(?:def|entry) \w+ [^=\n]*\((\w+): \[\w*\][^\n=]*=\n( *)()", 3,
        r"let _ = \g<1> with [0] = \g<1>[0]\n\g<2>in "),
}


def in_comment(text, start):
    line_start = text.rfind("\n", 0, start) + 1
    line = text[line_start:start]
    return "--" in line or line.count('"') % 2 == 1


def mutants(path):
    """The program's mutants as (kind, line, text)."""
    text = path.read_text(encoding="utf-8")
    for kind, (pattern, group, replacement) in MUTATIONS.items():
        for match in re.finditer(pattern, text):
            start, end = match.span(group)
            if not in_comment(text, start):
                new = match.expand(replacement)
                yield kind, text.count("\n", 0, start) + 1, text[:start] + new + text[end:]


def fault(flc, path, text):
    """What is wrong with the answer, if anything; imports are found from where the program stands."""
    with tempfile.NamedTemporaryFile("w", suffix=".fl", dir=path.parent, encoding="utf-8") as file:
        file.write(text)
        file.flush()
        done = subprocess.run([flc, "check", file.name], capture_output=True, text=True, check=False)
    if done.returncode != 1:
        return "accepted" if done.returncode == 0 else f"exit status {done.returncode}"
    errors = done.stderr.count(": error: ")
    return f"{errors} errors" if errors > MOST_ERRORS else None


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("flc")
    parser.add_argument("--count", type=int, default=300)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("files", nargs="+", type=Path)
    args = parser.parse_args()
    kinds = {kind: [] for kind in MUTATIONS}
    for path in args.files:
        for kind, line, text in mutants(path):
            kinds[kind].append((path, line, text))
    chance, refused, tried = random.Random(args.seed), 0, 0
    for kind, every in kinds.items():
        chance.shuffle(every)
        for path, line, text in every[:args.count // len(kinds) + 1]:
            what = fault(args.flc, path, text)
            tried += 1
            refused += what is None
            if what:
                print(f"{path}:{line}: {kind}: {what}")
    print(f"{refused} of {tried} mutants refused")


if __name__ == "__main__":
    sys.exit(main())
