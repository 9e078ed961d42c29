#!/usr/bin/env python3
"""Runs programs as several workers in the interpreter, and compares with one.

usage: divided.py FLC [--count N] [--seed S] [--ranks R,..] [--mixed] [--keep FOLDER] [--stencils | --turns | KIND] [PROGRAM..]

Random programs of the kinds that versions.py makes (--idioms, --nests, ..), or borders.py; or these programs, with the values of their test blocks.  PROGRAM may be a folder of them.  Every
version runs with each number of workers, of which each layout gives some more rows than others, or none: what they exchange is checked more strictly than a device would (each row once, all
at the same place, the same result in all), and nothing is compiled."""
import argparse
import random
import re
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import borders
import turns
from versions import add_kinds, generator_of, INPUTS_PER_PROGRAM

MOST_VERSIONS = 3
SECONDS = 60


def evaluated(flc, path, entry, text, *options):
    try:
        return subprocess.run([flc, "eval", str(path), "-e", entry, *options], input=text, text=True, capture_output=True,
                              timeout=SECONDS, check=False)
    except subprocess.TimeoutExpired:
        return None


def message_of(run):
    """What an error says, without the lines of the program."""
    found = re.search(r"error: (.*)", run.stderr)
    return found[1] if found else run.stderr


def same(flc, folder, expected, run):
    """Floats are compared with a tolerance, as parts of sums are added in another order."""
    if run.returncode != expected.returncode:
        return False
    if run.returncode:  # which of several failures is told depends on who meets it first
        return "internal error" not in run.stderr
    if run.stdout == expected.stdout:
        return True
    for name, done in (("expected", expected), ("found", run)):
        (folder / name).write_text(done.stdout, encoding="utf-8")
    return subprocess.run([flc, "data", "--compare", str(folder / "expected"), str(folder / "found")], capture_output=True,
                          check=False).returncode == 0


def versions(flc, path, entry):
    """The names of some versions: the first ones and the last one."""
    tree = subprocess.run([flc, "tree", str(path), "--mpi"], text=True, capture_output=True, check=False).stdout
    found = re.search(rf"^{re.escape(entry)}: (\d+) version", tree, re.M)
    count = int(found[1]) if found else 1
    return sorted({k for k in (0, 1, count - 1) if k < count})[:MOST_VERSIONS]


def check(options, folder, path, entry, text):
    """What went wrong, in lines."""
    expected = evaluated(options.flc, path, entry, text)
    out = []
    if expected is None:
        return out
    for version in versions(options.flc, path, entry):
        for ranks in options.ranks:
            how = ["--mpi", "--after", "distribute", "--ranks", str(ranks), "--path", f"V{version}", *options.how]
            run = evaluated(options.flc, path, entry, text, *how)
            if run is not None and not same(options.flc, folder, expected, run):
                out.append(f"{path} -e {entry}, V{version}, {ranks} workers: {text[:300]}\n  expected {expected.stdout[:300]}"
                           f"{message_of(expected)[:400]}\n  found {run.stdout[:300]}{message_of(run)[:400]}")
    return out


def blocks(path):
    """Entry points and values of test blocks that have values in their text."""
    source = path.read_text(encoding="utf-8")
    for block in re.findall(r"^-- ==\n((?:--.*\n)+)", source, re.M):
        text = re.sub(r"^-- ?", "", block, flags=re.M)
        names = re.search(r"^entry:\s*(.*)$", text, re.M)
        for values in re.findall(r"(?<!random )input \{([^}]*)\}", text):
            for entry in names[1].split() if names else ["main"]:
                yield entry, values.strip() + "\n"


def random_programs(options, folder):
    for seed in range(options.seed, options.seed + options.count):
        generator = generator_of(seed, options)
        lets, results = generator.program()
        path = folder / f"fuzz_{seed}.fl"
        path.write_text(generator.definitions() + generator.text(lets, results), encoding="utf-8")
        entries = getattr(generator, "ranks", ["main"])
        inputs = [(entry, generator.input(entry) if entry != "main" else generator.input()) for entry in entries for _ in range(INPUTS_PER_PROGRAM)]
        for entry, text in inputs:
            yield path, entry, text


def array(r, sizes):
    if 0 in sizes:
        return "empty(" + "".join(f"[{n}]" for n in sizes) + "i32)"
    return str(r.randint(-9, 9)) + "i32" if not sizes else "[" + ", ".join(array(r, sizes[1:]) for _ in range(sizes[0])) + "]"


def stencils(options, folder):
    """In three rounds, on few and more points than there are workers."""
    for seed in range(options.seed, options.seed + options.count):
        r = random.Random(seed)
        text = borders.program(r, 1)
        path = folder / f"stencils_{seed}.fl"
        path.write_text(text, encoding="utf-8")
        for entry, sizes in re.findall(r"entry (\w+) (?:\[\w\] )+\(k: i64\) \(xs: ((?:\[\w\])+)i32\)", text):
            for n in (1, r.randint(2, 9), r.randint(10, 90)):
                shape = [n, r.randint(1, 5)][:sizes.count("[")]
                yield path, entry, f"{r.choice([-3, 0, 1, 5, 40])}i64 " + array(r, shape)


def turning(options, folder):
    for seed in range(options.seed, options.seed + options.count):
        r = random.Random(seed)
        text, entries = turns.program(r)
        path = folder / f"turns_{seed}.fl"
        path.write_text(text, encoding="utf-8")
        for entry, rank, rest in entries:
            for most in (2, 9):
                yield path, entry, array(r, [r.randint(1, most) for _ in range(rank)]) + " " + rest + "\n"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("flc")
    parser.add_argument("programs", nargs="*")
    parser.add_argument("--count", type=int, default=50)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--ranks", type=lambda text: [int(word) for word in text.split(",")], default=[2, 3])
    parser.add_argument("--keep")
    parser.add_argument("--mixed", dest="how", action="append_const", const="--mixed", default=[], help="programs for devices of different kinds")
    parser.add_argument("--stencils", action="store_true")
    parser.add_argument("--turns", action="store_true", help="programs that turn arrays around (turns.py)")
    add_kinds(parser)
    options = parser.parse_intermixed_args()
    start, failed, runs = time.time(), 0, 0
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        paths = [path for name in map(Path, options.programs) for path in (sorted(name.glob("*.fl")) if name.is_dir() else [name])]
        cases = ((path, *case) for path in paths for case in blocks(path))
        made = stencils if options.stencils else turning if options.turns else random_programs
        for path, entry, text in cases if options.programs else made(options, folder):
            wrong = check(options, folder, path, entry, text)
            runs, failed = runs + 1, failed + bool(wrong)
            for line in wrong:
                print(line)
                sys.stdout.flush()
            if wrong and options.keep:
                Path(options.keep).mkdir(parents=True, exist_ok=True)
                shutil.copy(path, options.keep)
    print(f"{runs} runs, {failed} failed, {time.time() - start:.0f} s")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
