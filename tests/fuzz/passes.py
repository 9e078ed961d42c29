#!/usr/bin/env python3
"""Compares what random programs compute before and after the passes.

usage: passes.py FLC [--count N] [--seed S] [--before PASS] [--after PASS ...]

Prints each failing program, reduced, with its input and both outcomes; exit status 1 if any.
"""
import argparse
import subprocess
import sys
import tempfile
from pathlib import Path

from programs import Generator, program_text

TIME_LIMIT_S = 5


def run(flc, path, after, data):
    command = [flc, "eval", path] + (["--after", after] if after else [])
    try:
        done = subprocess.run(command, input=data, capture_output=True, text=True,
                              timeout=TIME_LIMIT_S, check=False)
    except subprocess.TimeoutExpired:
        return "timeout", ""
    return (done.stdout if done.returncode == 0 else f"status {done.returncode}"), done.stderr


class Case:
    def __init__(self, options, folder, seed):
        self.options = options
        self.path = str(Path(folder) / f"fuzz_{seed}.fl")
        generator = Generator(seed)
        self.lets, self.results = generator.program()
        self.inputs = [generator.input() for _ in range(2)]

    def difference(self, lets, results):
        """The first disagreement as text, or None; "invalid" if the program itself is refused."""
        Path(self.path).write_text(program_text(lets, results), encoding="utf-8")
        for data in self.inputs:
            expected, message = run(self.options.flc, self.path, self.options.before, data)
            if expected.startswith("status 1"):
                return "invalid" if "rror" in message else None
            for after in self.options.after:
                got, complaint = run(self.options.flc, self.path, after, data)
                if got != expected:
                    return (f"input: {data}\nafter {self.options.before}: {expected}{message}\n"
                            f"after {after or 'the last pass'}: {got}{complaint}")
        return None

    def reduced(self):
        """Lets and results with what the failure does not need left out."""
        lets, results = self.lets, self.results
        changed = True
        while changed:
            changed = False
            for i in range(len(results)):
                fewer = results[:i] + results[i + 1:]
                if fewer and self.fails(lets, fewer):
                    results, changed = fewer, True
                    break
            for i in range(len(lets)):
                if self.fails(lets[:i] + lets[i + 1:], results):
                    lets, changed = lets[:i] + lets[i + 1:], True
                    break
        return lets, results

    def fails(self, lets, results):
        found = self.difference(lets, results)
        return found is not None and found != "invalid"


def report(case, seed):
    lets, results = case.reduced()
    print(f"-- seed {seed}")
    print(program_text(lets, results))
    print(case.difference(lets, results))
    sys.stdout.flush()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("flc")
    parser.add_argument("--count", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--before", default="elaborate")
    parser.add_argument("--after", nargs="*", default=[""])
    options = parser.parse_args()
    failures = invalid = 0
    with tempfile.TemporaryDirectory() as folder:
        for seed in range(options.seed, options.seed + options.count):
            case = Case(options, folder, seed)
            found = case.difference(case.lets, case.results)
            if found == "invalid":
                invalid += 1
            elif found:
                failures += 1
                report(case, seed)
    print(f"{options.count} programs, {failures} failures, {invalid} refused")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
