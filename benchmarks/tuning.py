#!/usr/bin/env python3
"""Tunes the benchmark programs and compares the result with other choices of versions.

usage: benchmarks/tuning.py FLC [--seconds N] [--budget N] [PROGRAM ...]

Each program is tuned on its training data.  Then, for each data set, all choices take turns, forwards and
backwards, in programs that are warm, and of the times of a choice the lower quartile counts: the default
thresholds, the tuned ones, each single version forced everywhere, and (on training data, where there are at
most 200) every path through the version tree.  On test data only default and tuned run.  A choice that is
far behind, or takes too long, runs no more than twice.  Prints a table in Markdown; ratios are geometric
means over data sets.

--seconds N   for each program, tuning included (default 90)
--budget N    of `flc tune` (default 30)
Published data is looked for in $FLC_DATA or ../shared/data; what is missing is left out.
"""
import gzip
import itertools
import json
import os
import pathlib
import re
import select
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent
PUBLISHED = pathlib.Path(os.environ.get("FLC_DATA", ROOT.parent.parent / "shared" / "data"))


def work(k, *outer):
    return [f"generated/matmul/2pow{k}_work_2pow{n}_outer" for n in outer]


# program: training data, test data
SETS = {
    "matmul": (work(20, *range(11)), work(25, 2, 4, 6, 8, 10)),
    "locvolcalib": (["LocVolCalib/train-small", "LocVolCalib/train-medium"],
                    ["LocVolCalib/small", "LocVolCalib/medium"]),
    "heston32": (["heston32/train-1162-quotes"], ["heston32/1062_quotes"]),
    "lavamd": (["lavaMD/train-D1", "lavaMD/train-D2"], ["lavaMD/D2"]),
    "pathfinder": (["generated/pathfinder/train-D1", "generated/pathfinder/train-D2"],
                   ["generated/pathfinder/D1", "generated/pathfinder/D2"]),
    "nn": (["generated/nn/train-D1", "generated/nn/train-D2"], ["generated/nn/D1", "generated/nn/D2"]),
    "srad": (["srad/train-D1", "srad/train-D2"], ["srad/D2"]),
    "backprop": (["backprop/train-D1", "backprop/train-D2"], ["backprop/D1"]),
    "option_pricing": (["OptionPricing/train-D1", "OptionPricing/train-D2"], ["OptionPricing/small"]),
}
MOST_PATHS, MOST_TURNS, LEAST_TURNS = 200, 15, 3
FAR_BEHIND, MOST_CALL_S, VISIT_US, MOST_CALLS = 1.5, 15, 2000, 20


class Server:
    """A program that serves commands; started again after a call that takes too long."""

    def __init__(self, *command):
        self.command, self.process = [str(word) for word in command], None
        self.start()

    def start(self):
        self.stop()
        self.process = subprocess.Popen([*self.command, "--server"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.buffer, self.loaded = b"", None
        self.reply(60)

    def stop(self):
        if self.process:
            self.process.kill()
            self.process.communicate()

    def reply(self, seconds):
        until = time.monotonic() + seconds
        while not self.buffer.endswith(b"%%% OK\n"):
            ready, _, _ = select.select([self.process.stdout], [], [], max(0, until - time.monotonic()))
            more = os.read(self.process.stdout.fileno(), 1 << 16) if ready else b""
            if not more:
                raise TimeoutError("no answer")
            self.buffer += more
        lines, self.buffer = self.buffer.decode().splitlines()[:-1], b""
        if lines and lines[0] == "%%% FAILURE":
            raise RuntimeError(" ".join(lines[1:]))
        return lines

    def ask(self, line, seconds=60):
        self.process.stdin.write(line.encode() + b"\n")
        self.process.stdin.flush()
        return self.reply(seconds)

    def load(self, file):
        types = self.ask("inputs main")
        self.consumes = any(kind.startswith("*") for kind in types)
        self.names = [f"v{i}" for i in range(len(types))]
        values = " ".join(f'{name} "{kind.lstrip("*")}"' for name, kind in zip(self.names, types))
        self.ask(f'restore "{file}" {values}')
        self.loaded = file

    def call(self, file, path):
        """One run in microseconds."""
        if self.loaded != file:
            self.load(file)
        self.ask(f"set_path {path}")
        said = self.ask("call main out " + " ".join(self.names), MOST_CALL_S)
        self.ask("free out")
        if self.consumes:
            self.unload()
        return next(int(line.split()[1]) for line in said if line.startswith("runtime:"))

    def unload(self):
        if self.loaded:
            self.ask("free " + " ".join(self.names))
        self.loaded = None


class Choice:
    """Versions to run: a server and a forced path; its times on the data set at hand."""

    def __init__(self, server, path):
        self.server, self.path, self.times, self.out, self.warm = server, path, [], False, False

    def visit(self, file):
        """Runs it once, or, if that is short, some more times."""
        taken = 0
        while not self.out and taken < VISIT_US and len(self.times) < 1000:
            try:
                us = self.server.call(file, self.path)
            except (TimeoutError, RuntimeError, OSError):
                self.out = True
                self.server.start()
                return
            if self.warm or us > 1e6:
                self.times.append(us)
            taken += us + VISIT_US / MOST_CALLS
            self.warm = True

    def us(self):
        return sorted(self.times)[len(self.times) // 4] if self.times else float("inf")


def compare(choices, file, seconds):
    """The time of each choice on the data set; infinite if it fails or takes too long."""
    until = time.monotonic() + seconds
    for choice in choices:
        choice.times, choice.out, choice.warm = [], False, False
    for turn in range(MOST_TURNS):
        if turn >= LEAST_TURNS and time.monotonic() > until:
            break
        for choice in choices if turn % 2 else reversed(choices):
            late = time.monotonic() > until + seconds
            if not choice.out and not (late and choice.times):
                choice.visit(file)
        best = min(choice.us() for choice in choices)
        for choice in choices:
            choice.out |= turn > 0 and choice.us() > FAR_BEHIND * best and choice is not choices[1]
    for choice in choices:
        choice.server.unload()
    return [choice.us() for choice in choices]


# ---- the version tree

def parts_of(node):
    return node.get("parts", []) + [node[key] for key in ("body", "then", "else") if key in node]


def paths_of(node):
    """Assignments of branches to the guards that they reach: every path of the tree."""
    if node["kind"] == "guard":
        return [{node["name"]: outcome, **rest} for outcome, branch in (("T", "then"), ("F", "else"))
                for rest in paths_of(node[branch])]
    found = [{}]
    for part in parts_of(node):
        found = [{**a, **b} for a, b in itertools.product(found, paths_of(part))]
        if len(found) > MOST_PATHS:
            return found
    return found


def runs_of(node):
    counts = [runs_of(part) for part in parts_of(node)]
    return sum(counts) if node["kind"] == "guard" else max(counts, default=1)


def version_of(node, number):
    """Version `number` of every region: a single version forced everywhere."""
    if node["kind"] == "guard":
        first = runs_of(node["then"])
        number %= first + runs_of(node["else"])
        taken = number < first
        rest = version_of(node["then" if taken else "else"], number if taken else number - first)
        return {node["name"]: "T" if taken else "F", **rest}
    return {name: outcome for part in parts_of(node) for name, outcome in version_of(part, number).items()}


def text_of(path):
    return ",".join(f"{name}={outcome}" for name, outcome in path.items())


# ---- data

def data_file(name, folder):
    """The file, unpacked or made; None if it is not there."""
    if name.startswith("generated/"):
        name = name.removeprefix("generated/")
        subprocess.run([sys.executable, ROOT / "generate.py", "-o", folder / "generated", name], check=True,
                       capture_output=True)
        return next(iter((folder / "generated").glob(f"{name}*")), None)
    for source in (PUBLISHED / f"{name}.in", PUBLISHED / f"{name}.in.gz"):
        if source.exists() and source.suffix == ".gz":
            target = folder / (name.replace("/", "-") + ".in")
            target.write_bytes(gzip.decompress(source.read_bytes()))
            return target
        if source.exists():
            return source
    return None


# ---- a program

def tune(flc, source, files, folder, budget):
    data = [word for file in files for word in ("--data", str(file))]
    done = subprocess.run([flc, "tune", str(source), *data, "--no-log", "-q", "-o", str(folder / "tuning"),
                           "--budget", str(budget), "--objective", "geomean"],
                          capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise RuntimeError(done.stderr.strip().splitlines()[0] if done.stderr else "flc tune failed")
    print(done.stdout, file=sys.stderr)
    runs, seconds = re.search(r"(\d+) program runs in ([\d.]+) s", done.stdout).groups()
    others = sum(int(count) for count in re.findall(r"(\d+) of them", done.stdout))
    return int(runs) - others, int(runs), float(seconds)


def ratio(a, b):
    pairs = [(x, y) for x, y in zip(a, b) if x < float("inf") and y < float("inf")]
    return f"{statistics.geometric_mean(x / y for x, y in pairs):.2f}" if pairs else "-"


def measure(flc, program, folder, seconds, budget):
    until = time.monotonic() + seconds
    source = ROOT / f"{program}.fl"
    train, test = [[file for file in (data_file(name, folder) for name in names) if file]
                   for names in SETS[program]]
    if not train:
        return [program, "no data"]
    counts = tune(flc, source, train, folder, budget)
    executable = folder / "program"
    tuning = source.with_name(source.name + ".tuning")
    if tuning.exists():
        raise RuntimeError(f"{tuning} would be built in")
    subprocess.run([flc, "build", str(source), "-o", str(executable)], check=True, capture_output=True)
    plain, tuned = Server(executable), Server(executable, "--tuning", folder / "tuning")
    tree = json.loads("\n".join(plain.ask("tree")))["entries"][0]["tree"]
    singles = [text_of(version_of(tree, number)) for number in range(runs_of(tree))]
    paths = [text_of(path) for path in paths_of(tree)]
    every = len(paths) <= MOST_PATHS
    forced = list(dict.fromkeys(singles + (paths if every else [])))
    choices = [Choice(plain, ""), Choice(tuned, ""), *(Choice(plain, path) for path in forced)]
    share = max(1.0, until - time.monotonic()) / (len(train) + 0.3 * len(test))
    times = [compare(choices, file, share) for file in train]
    tests = [compare(choices[:2], file, 0.3 * share) for file in test]
    plain.stop()
    tuned.stop()
    default, chosen, *others = zip(*times)
    lost = [list(row[:2]) for row in times + tests if row[1] > 1.02 * row[0]]
    single = [others[i] for i in range(len(singles))]
    ratios = sorted((statistics.geometric_mean(min(x, 1e9) / y for x, y in zip(row, chosen)), row) for row in single)
    best = [min(min(row[2:]), row[0]) for row in times]
    return [program, f"{len(train)} + {len(test)}", runs_of(tree), counts[0], counts[1], f"{counts[2]:.1f}",
            ratio(default, chosen), ratio(*zip(*tests)) if tests else "-", f"{ratios[0][0]:.2f}",
            f"{ratios[-1][0]:.3g}", ratio(chosen, best) if every else "-",
            f"{max(x / y for x, y in zip(chosen, best)):.2f}" if every else "-",
            len(paths) if every else f"> {MOST_PATHS}", len(lost)]


HEADER = ["program", "train + test", "R", "measuring runs", "all runs", "tuning s", "default / tuned",
          "... on test data", "best single / tuned", "worst single / tuned", "tuned / best path", "... worst set",
          "paths", "slower than default by > 2 %"]


def main():
    words, options = sys.argv[1:], {"--seconds": 90.0, "--budget": 30.0}
    while len(words) > 2 and words[1] in options:
        options[words[1]] = float(words[2])
        del words[1:3]
    print("| " + " | ".join(HEADER) + " |")
    print("|---" + "|--:" * (len(HEADER) - 1) + "|", flush=True)
    for program in words[1:] or SETS:
        with tempfile.TemporaryDirectory() as folder:
            try:
                row = measure(words[0], program, pathlib.Path(folder), options["--seconds"], options["--budget"])
            except (RuntimeError, subprocess.SubprocessError, OSError) as problem:
                row = [program, f"failed: {problem}"]
            print("| " + " | ".join(str(cell) for cell in row) + " |", flush=True)


if __name__ == "__main__":
    main()
