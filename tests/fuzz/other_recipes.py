#!/usr/bin/env python3
"""Test programs on the device with the other recipes of their kernels (docs/recipes.md); started by hand.

usage: other_recipes.py FLC FILE...

Of each file, round K runs every kernel that has a recipe K by that one; the other kernels as usual.
"""
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

FLC = sys.argv[1]
MOST = 6


def recipes(path):
    """Parameter -> the numbers that there are."""
    dump = subprocess.run([FLC, "dump", "--recipes", "--other-recipes", path], capture_output=True,
                          text=True, check=False)
    found = {}
    for name, number in re.findall(r"^-- by (\S+)=(\d+):$", dump.stdout, re.M):
        found.setdefault(name, []).append(int(number))
    return found


def run(path, number, names):
    tuning = pathlib.Path(f"{path}.tuning")
    tuning.write_text("".join(f"{name}={number}\n" for name in names))
    done = subprocess.run([FLC, "test", "--stage", "device", path], capture_output=True, text=True, check=False)
    tuning.unlink()
    print(f"{pathlib.Path(path).name}: recipe {number} of {len(names)} kernels: {done.stdout.strip().splitlines()[-1:]}",
          flush=True)
    if done.returncode:
        print(done.stdout + done.stderr, flush=True)
    return done.returncode == 0


def main():
    failed = 0
    with tempfile.TemporaryDirectory() as folder:
        for file in sys.argv[2:]:
            path = shutil.copy(file, folder)
            found = recipes(path)
            for number in range(2, MOST + 1):
                names = [name for name, numbers in found.items() if number in numbers]
                if names:
                    failed += not run(path, number, names)
    print(f"{failed} failed")
    return failed > 0


sys.exit(main())
