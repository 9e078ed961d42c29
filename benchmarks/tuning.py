#!/usr/bin/env python3
"""Tunes benchmark programs and compares the result with every path there is.

usage: benchmarks/tuning.py FLC [PROGRAM ...]

Per program, on all its data sets together: how many runs tuning took and how long; the time of the
tuned program against its default thresholds, against the best single version forced everywhere
(one assignment of branches for all data sets), and against the best path per data set found by
running all of them (where there are at most 200).  Prints a table in Markdown.
"""
import itertools
import json
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent
DATA = [ROOT / "data" / "published", ROOT.parent.parent / "shared" / "data", ROOT / "data"]
SETS = {
    "matmul": ["[4][4096]f32 [4096][4]f32", "[32][256]f32 [256][32]f32", "[256][16]f32 [16][256]f32",
               "[1024][1]f32 [1][1024]f32", "[1][1048576]f32 [1048576][1]f32"],
    "locvolcalib": ["LocVolCalib/tiny.in", "LocVolCalib/train-small.in"],
    "heston32": ["heston32/1062_mg0.in"],
    "lavamd": ["lavaMD/tiny.in"],
    "pathfinder": ["pathfinder/tiny.in", "pathfinder/small-wrap.in"],
    "nn": ["nn/tiny.in", "nn/small.in"],
    "srad": ["srad/tiny.in"],
    "backprop": ["backprop/tiny.in"],
    "option_pricing": ["OptionPricing/tiny-c1.in"],
}
MOST_PATHS, MOST_SECONDS, MOST_TURNS = 200, 25, 40


class Server:
    """A generated program that serves commands."""

    def __init__(self, program):
        self.process = subprocess.Popen([program, "--server"], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, text=True)
        self.reply()

    def reply(self):
        lines = []
        while (line := self.process.stdout.readline().rstrip("\n")) != "%%% OK":
            if not line and self.process.poll() is not None:
                raise RuntimeError("the program has ended")
            lines.append(line)
        if lines and lines[0] == "%%% FAILURE":
            raise RuntimeError(" ".join(lines[1:]))
        return lines

    def ask(self, line):
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()
        return self.reply()

    def time(self, data, path, settings):
        """One run, in microseconds."""
        types = self.ask("inputs main")
        names = [f"v{i}" for i in range(len(types))]
        self.ask(f"set_path {path}")
        for name, value in settings.items():
            self.ask(f"set_tuning_param {name} {value}")
        values = " ".join(f'{n} "{t.lstrip("*")}"' for n, t in zip(names, types))
        self.ask(f'restore "{data}" {values}')
        said = self.ask("call main out " + " ".join(names))
        self.ask("free out")
        self.ask("free " + " ".join(names))
        return next(int(line.split()[1]) for line in said if line.startswith("runtime:"))

    def defaults(self, names):
        return {name: self.ask(f"tuning_param_value {name}")[0] for name in names}


def paths_of(node):
    """Assignments of branches to the guards that they reach: every path of the tree."""
    if node["kind"] == "guard":
        return [{node["name"]: outcome, **rest} for outcome, branch in (("T", "then"), ("F", "else"))
                for rest in paths_of(node[branch])]
    parts = node.get("parts", []) + [node[k] for k in ("body", "then", "else") if k in node]
    found = [{}]
    for part in parts:
        found = [{**a, **b} for a, b in itertools.product(found, paths_of(part))]
        if len(found) > MOST_PATHS:
            return found
    return found


def data_files(flc, program, folder):
    for number, name in enumerate(SETS[program]):
        target = folder / f"{number}.in"
        if name.startswith("["):
            words = [word for kind in name.split() for word in ("-g", kind)]
            target.write_bytes(subprocess.check_output([flc, "data", "-b", *words]))
        else:
            source = next((d / name for d in DATA if (d / name).exists()), None)
            if not source:
                continue
            with open(source, "rb") as values:
                # Binary, with the types that the program itself reads.
                target.write_bytes(values.read())
        yield target


def tune(flc, source, files, folder):
    started = time.time()
    data = [word for file in files for word in ("--data", str(file))]
    done = subprocess.run([flc, "tune", str(source), *data, "--no-log", "-q", "-o",
                           str(folder / "tuning"), "--budget", "120", "--objective",
                           "geomean"], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise RuntimeError(done.stderr.strip().splitlines()[0] if done.stderr else "flc tune failed")
    runs, seconds = re.search(r"(\d+) program runs in ([\d.]+) s", done.stdout).groups()
    covers = re.search(r"(\d+) runs cover", done.stdout).group(1)
    text = (folder / "tuning").read_text()
    settings = dict(re.findall(r"^([\w.]+)=(\d+)$", text, re.M))
    return {"runs": int(runs), "covers": int(covers), "seconds": float(seconds),
            "all": time.time() - started, "settings": settings}


def compare(server, files, configurations):
    """Per configuration (path, settings) and data set the lower quartile of its times.

    They take turns, so that what disturbs the machine meets all alike; the first turn warms up.
    Ends when it has taken long enough, but each has run twice."""
    started = time.time()
    times = [[[] for _ in files] for _ in configurations]
    for turn in range(1 + MOST_TURNS):
        if turn > 2 and time.time() - started > MOST_SECONDS:
            break
        for row, (path, settings) in zip(times, configurations):
            for samples, file in zip(row, files):
                us = server.time(file, path, settings)
                if turn > 0:
                    samples.append(us)
    return [[sorted(samples)[len(samples) // 4] for samples in row] for row in times]


def ratio(a, b):
    return statistics.geometric_mean(x / y for x, y in zip(a, b))


def measure(flc, program, folder):
    source = ROOT / f"{program}.fl"
    files = list(data_files(flc, program, folder))
    result = tune(flc, source, files, folder)
    executable = folder / "program"
    subprocess.run([flc, "build", str(source), "-o", str(executable)], check=True, capture_output=True)
    server = Server(executable)
    tree = json.loads("\n".join(server.ask("tree")))["entries"][0]["tree"]
    paths = paths_of(tree)
    before = server.defaults(result["settings"])
    configurations = [("", before), ("", {**before, **result["settings"]})]
    if len(paths) <= MOST_PATHS:
        configurations += [(",".join(f"{n}={o}" for n, o in path.items()), before) for path in paths]
    default, tuned, *forced = compare(server, files, configurations)
    server.process.kill()
    row = [program, len(files), result["runs"], f"{result['seconds']:.1f}", f"{ratio(default, tuned):.2f}"]
    if not forced:
        return row + ["-", "-", f"> {MOST_PATHS}"]
    single = min(forced, key=lambda times: ratio(times, tuned))
    best = [min(times) for times in zip(*forced)]
    return row + [f"{ratio(single, tuned):.2f}", f"{ratio(tuned, best):.2f}", len(paths)]


def main():
    flc = sys.argv[1]
    print("| program | data sets | runs | tuning s | default / tuned | best single path / tuned "
          "| tuned / best path per set | paths |")
    print("|---|--:|--:|--:|--:|--:|--:|--:|", flush=True)
    for program in sys.argv[2:] or SETS:
        with tempfile.TemporaryDirectory() as folder:
            try:
                row = measure(flc, program, pathlib.Path(folder))
            except (RuntimeError, subprocess.SubprocessError, OSError) as problem:
                row = [program, f"failed: {problem}"]
            print("| " + " | ".join(str(cell) for cell in row) + " |", flush=True)


main()
