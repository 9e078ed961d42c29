#!/usr/bin/env python3
"""Times incremental flattening against the other ways to flatten.

usage: benchmarks/flatten.py FLC [--seconds N] [--budget N] [PROGRAM ...]

Each benchmark program is compiled in every way; incrementally flattened code runs with default thresholds and,
unless the budget is 0, tuned on its training data.  For each data set all take turns, as in tuning.py, and of
the times of each the lower quartile counts.  Prints tables in Markdown: milliseconds for each data set, and
geometric means of time / (tuned) incremental time: above 1, incremental flattening is faster.  What fails, for
want of memory or within MOST_CALL_S, has no time and is no part of a mean; the last columns count it.

--seconds N   for each data set (default 6)
--budget N    of `flc tune` for each program (default 20)
"""
import pathlib
import statistics
import subprocess
import sys
import tempfile

import tuning

MODES = ["incremental", "moderate", "full", "outer"]
SETS = {**tuning.SETS, "nw": (["generated/nw/train"], ["generated/nw/D1"])}


def file_named(name, folder):
    file = tuning.data_file(name, folder)
    return [(name.removeprefix("generated/"), file)] if file else []


def build(flc, program, mode, folder):
    source = tuning.ROOT / f"{program}.fl"
    executable = folder / mode
    if source.with_name(source.name + ".tuning").exists():
        raise RuntimeError(f"{source}.tuning would be built in")
    done = subprocess.run([flc, "build", str(source), "--flatten", mode, "-o", str(executable)],
                          capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise RuntimeError(done.stderr.strip().splitlines()[0])
    return tuning.Server(executable)


def tuned(flc, program, files, folder, budget):
    tuning.tune(flc, tuning.ROOT / f"{program}.fl", files, folder, budget)
    return tuning.Server(folder / "incremental", "--tuning", folder / "tuning")


def milliseconds(us):
    return f"{us / 1000:.3g}" if us < float("inf") else "-"


def measure(flc, program, folder, seconds, budget):
    """Rows of times in microseconds, one for each data set: (name, times)."""
    train, test = [[pair for name in names for pair in file_named(name, folder)] for names in SETS[program]]
    if not train + test:
        print(f"| {program} | no data |", flush=True)
        return []
    servers = [build(flc, program, mode, folder) for mode in MODES]
    if budget > 0 and train:
        servers.insert(0, tuned(flc, program, [file for _, file in train], folder, budget))
    elif budget > 0:
        servers.insert(0, servers[0])
    rows = []
    for name, file in train + test:
        times = tuning.compare([tuning.Choice(server, "") for server in servers], file, seconds)
        rows.append(times)
        print(f"| {program} | {name} | " + " | ".join(map(milliseconds, times)) + " |", flush=True)
    for server in set(servers):
        server.stop()
    return rows


def mean(rows, column):
    """Of time / time of the first column; how many have none."""
    pairs = [(row[column], row[0]) for row in rows]
    ratios = [x / y for x, y in pairs if x < float("inf") and y < float("inf")]
    return (f"{statistics.geometric_mean(ratios):.2f}" if ratios else "-"), len(pairs) - len(ratios)


def table(head):
    print("| " + " | ".join(head) + " |")
    print("|---" + "|--:" * (len(head) - 1) + "|", flush=True)


def summary(results, columns):
    print()
    table(["program", "data sets", *(f"{name} / {columns[0]}" for name in columns[1:]), "without a time"])
    everything = [row for rows in results.values() for row in rows]
    for program, rows in [*results.items(), ("**all data sets**", everything)]:
        means = [mean(rows, column) for column in range(1, len(columns))]
        failed = sum(count for _, count in means)
        print(f"| {program} | {len(rows)} | " + " | ".join(text for text, _ in means) + f" | {failed} |")


def main():
    words, options = sys.argv[1:], {"--seconds": 6.0, "--budget": 20.0}
    while len(words) > 2 and words[1] in options:
        options[words[1]] = float(words[2])
        del words[1:3]
    columns = (["tuned"] if options["--budget"] > 0 else []) + MODES
    table(["program", "data set", *(f"{name}, ms" for name in columns)])
    results = {}
    for program in words[1:] or SETS:
        with tempfile.TemporaryDirectory() as folder:
            try:
                rows = measure(words[0], program, pathlib.Path(folder), options["--seconds"], options["--budget"])
            except (RuntimeError, subprocess.SubprocessError, OSError) as problem:
                print(f"| {program} | failed: {problem} |", flush=True)
                rows = []
            if rows:
                results[program] = rows
    summary(results, columns)


if __name__ == "__main__":
    main()
