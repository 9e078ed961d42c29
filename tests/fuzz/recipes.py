#!/usr/bin/env python3
"""Random recipes: recipes.py FLC SEED COUNT STAGE PROGRAM...

Each round takes a program with test blocks and gives each of its kernels some random steps: those that are refused (with
status 1 and a message) are left out.  Anything else than a refusal is a failure, and so is a wrong result of the test blocks
at the stage: `kern` (the interpreter of kernels: fast) or `device`.  The recipes that fail are kept beside the working directory, as recipe-SEED."""
import os
import random
import re
import subprocess
import sys
import tempfile

MOST_STEPS = 8
TIME_LIMIT_S = 600
SPLITS = ["bound", "short", "run", "peel", "chain", "overlap", "overlap", "clamp"]
NUMBERS = [1, 2, 3, 4, 4, 5, 7, 8, 8, 16, 16, 32]


def dump(flc, program, recipe):
    """Status, output and messages."""
    done = subprocess.run([flc, "dump", "--recipes", "--recipe", recipe, program], text=True, timeout=TIME_LIMIT_S,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False,
                          env=os.environ | {"FLC_CHECK_IR": "1"})
    return done.returncode, done.stdout, done.stderr


def kernels_of(text):
    """The axes of each kernel, by its name: those of the first way."""
    kernels, name = {}, None
    for line in text.splitlines():
        head = re.match(r"kernel (\S+)", line)
        if head:
            name = head[1]
            kernels[name] = []
        elif line == "otherwise":
            name = None
        axis = re.search(r"-- .*\baxis (\S+):", line)
        if axis and name:
            kernels[name].append(axis[1])
    return kernels


def random_step(rng, axes):
    """A step that may apply."""
    axis, other = rng.choice(axes), rng.choice(axes)
    number = rng.choice(NUMBERS)
    kind = rng.randrange(14)
    if kind < 4:
        return f"split {axis} by {number} {rng.choice(SPLITS)}"
    if kind < 5:
        return f"split {axis} into {number}"
    if kind < 8:
        return f"permute {axis} {other}"
    if kind < 11:
        return f"bind {axis} to {rng.choice(['lane', 'lane', 'reg', 'reg', 'grid', 'seq'])}"
    if kind < 13:
        return rng.choice([f"align {axis}", f"stage {axis}", f"unroll {axis}", f"sweep {axis} by {number}", f"collect {axis} by {16 * number}"])
    return rng.choice(["interior", "interior move", f"unswitch {axis}", f"cut {axis}", f"where {axis} >= {number}"])


# Two steps that go well together: most single ones are refused because lanes want constant widths.
def random_steps(rng, axes):
    """Some steps that may apply, one after the other."""
    if rng.random() < 0.5:
        return [random_step(rng, axes)]
    axis, number = rng.choice(axes), rng.choice([2, 4, 8, 16])
    rest = rng.choice(SPLITS)
    return [f"split {axis} by {number} {rest}", f"bind {axis} to {rng.choice(['lane', 'reg'])}"]


def write(recipe, steps):
    """The file with the steps of each kernel."""
    with open(recipe, "w", encoding="utf-8") as out:
        for name, lines in steps.items():
            out.write(f"kernel {name}\n" + "".join(f"  {line}\n" for line in lines))


class Failure(Exception):
    """What went wrong."""


def attempt(flc, program, recipe, steps):
    """The dump with these steps; None if one is refused."""
    write(recipe, steps)
    status, out, messages = dump(flc, program, recipe)
    if status == 0:
        return out
    if status != 1 or "error: " not in messages or "internal" in messages:
        raise Failure(f"status {status}: {messages[-2000:]}")
    return None


def grow(rng, flc, program, recipe):
    """Random steps for all kernels."""
    steps = {}
    text = attempt(flc, program, recipe, steps)
    if text is None:
        raise Failure("the program has no kernels")
    for name in list(kernels_of(text)):
        for _ in range(rng.randrange(1, MOST_STEPS)):
            axes = kernels_of(text).get(name)
            if not axes:
                break
            more = steps | {name: steps.get(name, []) + random_steps(rng, axes)}
            grown = attempt(flc, program, recipe, more)
            if grown is not None:
                steps, text = more, grown
    write(recipe, steps)
    return sum(map(len, steps.values()))


def run_round(flc, seed, stage, programs, recipe):
    """One program with one set of recipes."""
    rng = random.Random(seed)
    program = rng.choice(programs)
    try:
        count = grow(rng, flc, program, recipe)
        done = subprocess.run([flc, "test", "-j1", "--stage", stage, "--timeout", str(TIME_LIMIT_S), "--recipe", recipe,
                               program], text=True, check=False, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        if "its recipe was refused" in done.stdout:  # in another version, where the kernel is another one
            print(f"{seed}: {program}, refused", flush=True)
            return True
        if done.returncode:
            raise Failure(done.stdout[-2000:])
        print(f"{seed}: {program}, {count} steps: {done.stdout.splitlines()[-1]}", flush=True)
        return True
    except (Failure, subprocess.TimeoutExpired) as failure:
        os.replace(recipe, f"recipe-{seed}")
        print(f"{seed}: FAIL {program} --recipe recipe-{seed}\n{failure}", flush=True)
        return False


def main(flc, seed, count, stage, programs):
    """0 if nothing failed."""
    failures = 0
    with tempfile.TemporaryDirectory() as folder:
        for number in range(int(seed), int(seed) + int(count)):
            failures += not run_round(os.path.realpath(flc), number, stage, programs, os.path.join(folder, "recipe"))
    print(f"{count} rounds, {failures} failures")
    return failures > 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:5], sys.argv[5:]))
