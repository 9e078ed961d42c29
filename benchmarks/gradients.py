#!/usr/bin/env python3
"""Gradients beside what they are gradients of, and beside JAX's.

usage: benchmarks/gradients.py FLC [--jax PYTHON] [--seconds N] [--keep DIR] [PATTERN ...]

For each entry point `F` of the programs in gradients/ there is an `F_gradient`.  Both run in turns in one
warm process on random data of the sizes that the comment above `F` names, and of each the fastest run
counts.  Prints a table in Markdown: milliseconds and how many times as long the gradient takes.

--jax PYTHON  an interpreter that has JAX: gradients/theirs.py does the same there, in turns with ours;
              results are compared, and the exit status is 1 if they differ
--seconds N   for each row (default 2)
--keep DIR    for what is built (default: a temporary folder)
PATTERN       rows whose name, FAMILY/F, begins so
"""
import argparse
import dataclasses
import json
import pathlib
import re
import subprocess
import sys
import tempfile
import time

import tuning

PROGRAMS = pathlib.Path(__file__).resolve().parent / "gradients"
ENTRY = re.compile(r"^-- rows: (.*)\n(?:-- inputs: (.*)\n)?entry (\w+) ((?:\[\w+\] *|\([^)]*\)\s*)*)", re.MULTILINE)
DIFFERENCE = 2e-3


@dataclasses.dataclass
class Row:
    program: pathlib.Path
    entry: str
    sizes: dict
    types: list   # of the parameters, with the sizes filled in
    bounds: list  # of random values, or (value, value)

    def name(self):
        return f"{self.program.stem}/{self.entry}"


def bounds_of(notes, parameter, sizes):
    for note in filter(None, (notes or "").split("; ")):
        names, how = re.split(r" in | = ", note)
        if parameter in names.split(", "):
            ends = [sizes.get(end, end) for end in how.split("..")]
            return ends[0], ends[-1]
    return 0, 1


def rows_of(program):
    for sizes, notes, entry, parameters in ENTRY.findall(program.read_text(encoding="utf-8")):
        sizes = dict(part.split("=") for part in sizes.split())
        pairs = [re.split(r":\s*", text) for text in re.findall(r"\(([^)]*)\)", parameters)]
        types = [re.sub(r"\[(\w+)\]", lambda m: f"[{sizes.get(m[1], m[1])}]", kind) for _, kind in pairs]
        yield Row(program, entry, sizes, types, [bounds_of(notes, name, sizes) for name, _ in pairs])


def write_data(flc, row, path):
    with open(path, "wb") as out:
        for seed, (kind, (low, high)) in enumerate(zip(row.types, row.bounds), 1):
            element = kind.rpartition("]")[2]
            given = f"{low}{element}" if low == high else kind
            high = int(high) - 1 if element == "i64" and low != high else high
            out.write(subprocess.run([flc, "data", "-b", "-s", str(seed), f"--{element}-bounds={low}:{high}", "-g", given],
                                     check=True, capture_output=True).stdout)


class Ours:
    def __init__(self, flc, row, data, folder):
        executable = folder / row.program.stem
        if not executable.exists():
            subprocess.run([flc, "build", str(row.program), "-o", str(executable)], check=True)
        self.server = tuning.Server(executable)
        self.inputs = [f"v{i}" for i in range(len(row.types))]
        values = " ".join(f'{name} "{kind}"' for name, kind in zip(self.inputs, self.server.ask(f"inputs {row.entry}")))
        self.server.ask(f'restore "{data}" {values}', 300)
        self.folder = folder

    def call(self, entry):
        """Microseconds, and how many results there are."""
        outputs = [f"out{i}" for i in range(len(self.server.ask(f"outputs {entry}")))]
        said = self.server.ask(f"call {entry} {' '.join(outputs)} {' '.join(self.inputs)}", 300)
        return next(int(line.split()[1]) for line in said if line.startswith("runtime:")), outputs

    def run(self, entry):
        us, outputs = self.call(entry)
        self.server.ask("free " + " ".join(outputs))
        return us

    def results(self, entry):
        """The file that they are stored in."""
        path = self.folder / f"{entry}.ours"
        _, outputs = self.call(entry)
        self.server.ask(f'store "{path}" {" ".join(outputs)}')
        self.server.ask("free " + " ".join(outputs))
        return path


class Theirs:
    def __init__(self, python, row, data):
        command = [python, str(PROGRAMS / "theirs.py"), row.name(), str(data), json.dumps(row.types)]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def ask(self, line):
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()
        return self.process.stdout.readline().strip()

    def run(self, entry):
        return float(self.ask("gradient" if entry.endswith("_gradient") else "primal"))

    def differs(self, path):
        """By how much, relative to the greatest element of each result."""
        return float(self.ask(f"compare {path}"))


def fastest(sides, row, seconds):
    """For each side and both entry points the fastest run, in milliseconds."""
    choices = [(side, entry) for side in sides for entry in (row.entry, row.entry + "_gradient")]
    best, until, turn = [float("inf")] * len(choices), time.monotonic() + seconds, 0
    while turn < 4 or time.monotonic() < until:
        for k, (side, entry) in enumerate(choices):
            us = min(side.run(entry) for _ in range(3))
            best[k] = min(best[k], us / 1e3) if turn else best[k]
        turn += 1
    return best


def cells(times):
    return [text for primal, gradient in zip(times[::2], times[1::2])
            for text in (f"{primal:.3g}", f"{gradient:.3g}", f"{gradient / primal:.2f}")]


def measure(options, row, folder):
    """A line of the table; whether the results agree with theirs."""
    data, right = folder / "data", True
    write_data(options.flc, row, data)
    ours = Ours(options.flc, row, data, folder)
    sides = [ours]
    if options.jax:
        theirs = Theirs(options.jax, row, data)
        sides.append(theirs)
        difference = theirs.differs(ours.results(row.entry + "_gradient"))
        right = difference <= DIFFERENCE
    sizes = ", ".join(f"{name} = {value}" for name, value in row.sizes.items())
    print("| " + " | ".join([row.name(), sizes, *cells(fastest(sides, row, options.seconds))]) + " |", flush=True)
    if not right:
        print(f"{row.name()}: the gradient differs by {difference:.1e}", file=sys.stderr)
    ours.server.stop()
    if options.jax:
        theirs.process.kill()
    return right


def main():
    parser = argparse.ArgumentParser(usage=__doc__.split("usage: ")[1].split("\n")[0])
    parser.add_argument("flc")
    parser.add_argument("--jax")
    parser.add_argument("--seconds", type=float, default=2)
    parser.add_argument("--keep", type=pathlib.Path)
    parser.add_argument("patterns", nargs="*")
    options = parser.parse_intermixed_args()
    rows = [row for program in sorted(PROGRAMS.glob("*.fl")) for row in rows_of(program)
            if not options.patterns or any(row.name().startswith(pattern) for pattern in options.patterns)]
    heads = ["function", "sizes", "ms", "gradient", "ratio"] + ["JAX ms", "gradient", "ratio"] * bool(options.jax)
    print("| " + " | ".join(heads) + " |\n|---|---" + "|--:" * (len(heads) - 2) + "|")
    with tempfile.TemporaryDirectory() as temporary:
        folder = options.keep or pathlib.Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        return 0 if all([measure(options, row, folder) for row in rows]) else 1


if __name__ == "__main__":
    sys.exit(main())
