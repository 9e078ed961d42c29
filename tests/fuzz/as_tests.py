"""Random programs with test blocks, each run by `flc test`: in every version, on the device as in the interpreter.

usage of those who call main: NAME.py FLC [--count N] [--seed S] [--workers N] [--no-device]
"""
import argparse
import os
import random
import subprocess
import tempfile


def main(program):
    """program(r, workers): the text of one, made with the random numbers r; workers: how many, or None."""
    parser = argparse.ArgumentParser()
    parser.add_argument("flc")
    parser.add_argument("--count", type=int, default=20)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--workers", type=int)
    parser.add_argument("--no-device", action="store_true")
    options = parser.parse_args()
    how = ["--workers", str(options.workers)] if options.workers else ["--no-device"] if options.no_device else []
    failures = 0
    for seed in range(options.seed, options.seed + options.count):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "random.fl")
            with open(path, "w", encoding="utf-8") as file:
                file.write(program(random.Random(seed), options.workers))
            run = subprocess.run([options.flc, "test", "--timeout", "900", path] + how, capture_output=True, text=True,
                                 env={**os.environ, "FLC_CHECK_IR": "1"}, check=False)
        if run.returncode:
            failures += 1
            print(f"seed {seed}:\n{run.stdout}{run.stderr}", flush=True)
    print(f"{options.count} programs, {failures} failures")
    return 1 if failures else 0
