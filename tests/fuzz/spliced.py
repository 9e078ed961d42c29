#!/usr/bin/env python3
"""flc check on programs that are cut off, joined and mixed up: spliced.py FLC [--count N] [--seed S] FILE...

Each must be accepted or refused: within ten seconds, without a signal or a sanitizer's report.  What is not
stays in the folder that is printed.
"""
import argparse
import random
import re
import subprocess
import sys
import tempfile
from pathlib import Path

TOKEN = re.compile(rb"\s+|--[^\n]*|[A-Za-z_]\w*|\d+\w*|.", re.S)
LONGEST = 20000  # bytes of a program


def changed(chance, tokens, every):
    """The program after one to six changes of its tokens."""
    tokens = list(tokens)
    for _ in range(chance.choice([1, 1, 2, 3, 6])):
        at, other = chance.randrange(len(tokens)), chance.randrange(len(tokens))
        what = chance.randrange(5)
        if what == 0:
            tokens[at] = chance.choice(every)
        elif what == 1:
            tokens.insert(at, chance.choice(every))
        elif what == 2 and len(tokens) > 1:
            del tokens[at]
        elif what == 3:
            tokens[at], tokens[other] = tokens[other], tokens[at]
        else:
            tokens[other:other] = tokens[at:at + chance.randrange(1, 20)]
    return b"".join(tokens)


def inputs(chance, texts):
    programs = [TOKEN.findall(text) for text in texts]
    every = [token for tokens in programs for token in tokens]
    while True:
        text = chance.choice(texts)
        start = text[:chance.randrange(len(text) + 1)]
        what = chance.randrange(4)
        if what == 0:
            yield start
        elif what == 1:
            other = chance.choice(texts)
            yield start + other[chance.randrange(len(other) + 1):]
        else:
            yield changed(chance, chance.choice(programs), every)


def fault(flc, path):
    try:
        done = subprocess.run([flc, "check", path], capture_output=True, timeout=10, check=False)
    except subprocess.TimeoutExpired:
        return "takes too long"
    if done.returncode not in (0, 1):
        return f"exit status {done.returncode}: {done.stderr[:200]!r}"
    reported = b"Sanitizer" in done.stderr or b"runtime error" in done.stderr
    return f"{done.stderr[:200]!r}" if reported else None


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("flc")
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("files", nargs="+", type=Path)
    args = parser.parse_args()
    texts = [path.read_bytes() for path in args.files]
    made = inputs(random.Random(args.seed), [t for t in texts if 0 < len(t) < LONGEST])
    folder, failures = Path(tempfile.mkdtemp(prefix="flc-spliced-")), 0
    for i in range(args.count):
        path = folder / f"{i}.fl"
        path.write_bytes(next(made))
        what = fault(args.flc, path)
        if what:
            print(f"{path}: {what}")
            failures += 1
        else:
            path.unlink()
    print(f"{args.count} inputs, {failures} failures")
    return failures > 0


if __name__ == "__main__":
    sys.exit(main())
