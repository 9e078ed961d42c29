#!/usr/bin/env python3
"""Runs random nested programs in every version and compares with Core's results.

Of eight seeds in a row two give chains of fusions, two regular nests, three nests with what has no
fixed form, and one a program that must fail.  With --idioms all are made of what people write
(idioms/); with --failing as well they leave out some of the care that keeps programs from failing (a
mistake in what no result needs may go unseen after `core`), with --derivatives they are derivatives,
with --wide their arrays are so long that CPUs cut them into chunks.  With --checks they are small,
and what may fail stands in every place; with --nests each point of a map works on rows of its own, with
--bits on numbers of few bits; with --cubes arrays of up to three dimensions are turned, cut, filtered and counted;
with --parts they are many functions that call each other (with --derivatives theirs), with --partners bits of indices,
with --blocks what groups of work-items share, with --pairs what points make of all pairs, of windows and of short rows,
with --edges (and --failing) loops of lanes' own, shifts, strides, tables that change, at sizes around those of lanes and groups,
with --slices what reads slices with strides, turned and in other rows.

usage: versions.py FLC [--count N] [--seed S] [--batch B] [--keep FOLDER] [--depth D] [--device]
                   [--seconds T] [--jobs J] [--mpi N] [--workers N [--mixed]] [--reproducible] [--option OPTION]
                   [--stage STAGE]
                   [--idioms [--failing | --derivatives] [--wide] | --checks | --nests | --bits | --cubes | --parts [--derivatives] | --pairs | --partners | --blocks | --edges [--failing] | --slices | --anything]

Each program becomes a file with test blocks `auto output`: `flc test` interprets it after
elaboration, which gives the expected values, then before and after flattening, in every version.
Prints what failed; with --keep the failing programs stay in FOLDER.  Exit status 1 if any failed.
"""
import argparse
import re
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from idioms import FailingIdiomGenerator, IdiomGenerator
from idioms.anything import AnythingGenerator
from idioms.bits import BitsGenerator
from idioms.blocks import BlocksGenerator
from idioms.checks import CheckGenerator
from idioms.cubes import CubesGenerator
from idioms.edges import EdgesGenerator, FailingEdgesGenerator
from idioms.nests import NestsGenerator
from idioms.pairs import PairsGenerator
from idioms.partners import PartnersGenerator
from idioms.parts import PartsGenerator, SmoothPartsGenerator
from idioms.slices import SlicesGenerator
from idioms.smooth import SmoothGenerator
from programs import Generator, NestGenerator
from varying import FailingGenerator, VaryingGenerator

INPUTS_PER_PROGRAM = 2
MISTAKES = "out of bounds|division by zero|Assertion is false|negative|is invalid|do not match|cannot be|cannot match"


def idiom_generator(options):
    if options.derivatives:
        return SmoothGenerator
    return FailingIdiomGenerator if options.failing else IdiomGenerator


def add_kinds(parser):
    """The options that generator_of reads."""
    parser.add_argument("--depth", type=int, default=4)
    parser.add_argument("--idioms", action="store_true", help="programs of what people write")
    parser.add_argument("--failing", action="store_true", help="idioms that may fail")
    parser.add_argument("--derivatives", action="store_true", help="of idioms")
    parser.add_argument("--checks", action="store_true", help="what may fail, in every place")
    parser.add_argument("--cubes", action="store_true", help="cubes and planes")
    parser.add_argument("--parts", action="store_true", help="functions that call each other")
    parser.add_argument("--pairs", action="store_true", help="pairs, windows, short rows")
    parser.add_argument("--partners", action="store_true", help="bits of indices")
    parser.add_argument("--blocks", action="store_true", help="what groups share")
    parser.add_argument("--nests", action="store_true", help="rows that each point works on")
    parser.add_argument("--bits", action="store_true", help="numbers of few bits")
    parser.add_argument("--slices", action="store_true", help="what reads slices with strides")
    parser.add_argument("--anything", action="store_true", help="any type in any place")
    parser.add_argument("--edges", action="store_true", help="sizes at the borders of lanes and groups")


def generator_of(seed, options):
    kind = seed % 8
    if options.checks:
        return CheckGenerator(seed)
    if options.cubes:
        return CubesGenerator(seed)
    if options.blocks:
        return BlocksGenerator(seed)
    if options.pairs:
        return PairsGenerator(seed)
    if options.partners:
        return PartnersGenerator(seed)
    if options.parts:
        return (SmoothPartsGenerator if options.derivatives else PartsGenerator)(seed)
    if options.nests:
        return NestsGenerator(seed)
    if options.bits:
        return BitsGenerator(seed)
    if options.slices:
        return SlicesGenerator(seed)
    if options.anything:
        return AnythingGenerator(seed)
    if options.edges:
        return (FailingEdgesGenerator if options.failing else EdgesGenerator)(seed)
    if options.idioms:
        return idiom_generator(options)(seed)
    if kind in (0, 4):
        return Generator(seed)
    if kind in (1, 5):
        return NestGenerator(seed, options.depth)
    return (FailingGenerator if kind == 7 else VaryingGenerator)(seed, options.depth)


def fails(flc, program, values, entry):
    """Whether it does as it is elaborated, in the interpreter."""
    with tempfile.NamedTemporaryFile("w", suffix=".fl", encoding="utf-8") as file:
        file.write(program)
        file.flush()
        done = subprocess.run([flc, "eval", file.name, "-e", entry, "--after", "elaborate"], input=values, text=True,
                              capture_output=True, check=False)
    return re.search(MISTAKES, done.stderr) is not None


def test_text(generator, flc):
    """A program with its test block."""
    lets, results = generator.program()
    program = generator.definitions() + generator.text(lets, results)
    lines = []
    for entry in getattr(generator, "ranks", ["main"]):
        lines += ["-- ==", f"-- entry: {entry}"]
        for _ in range(INPUTS_PER_PROGRAM):
            values = generator.input(entry) if entry != "main" else generator.input()
            error = generator.expected
            if generator.may_fail and fails(flc, program, values, entry):
                error = MISTAKES
            lines.append(f"-- input {{ {values} }}")
            lines.append(f"-- error: {error}" if error else "-- auto output")
        lines.append("")
    return "\n".join(lines) + "\n\n" + program


def run_batch(options, folder, seeds):
    """Writes and tests the programs of the seeds; the output of `flc test`, without the counts."""
    for path in folder.glob("*.fl"):
        path.unlink()
    for seed in seeds:
        generator = generator_of(seed, options)
        if options.wide:
            generator.widen()
        families = options.idioms, options.checks, options.nests, options.bits, options.cubes, options.parts, options.pairs, options.partners, options.blocks, options.edges, options.slices, options.anything
        if options.device and not any(families):  # vectors of CPUs need 16 points
            generator.widths = tuple(w for w in (0, 1, 3, 16, 17, 33) if w >= min(generator.widths))
        (folder / f"fuzz_{seed}.fl").write_text(test_text(generator, options.flc), encoding="utf-8")
    command = [options.flc, "test", "-j", str(options.jobs), "--timeout", str(options.seconds),
               "--max-steps", "300000000" if options.wide or options.blocks or options.pairs or options.anything else "20000000", str(folder)] + ([] if options.device else ["--no-device"])
    command += [part for option in options.option for part in ("--pass-option", option)]
    command += ["--stage", options.stage] if options.stage else []
    command += ["--reproducible"] * options.reproducible
    command += ["--mpi", str(options.mpi)] if options.mpi else []
    command += ["--workers", str(options.workers)] + ["--mixed"] * options.mixed if options.workers else []
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode == 0:
        return ""
    notes = ("a sample was run", "--all-versions)")
    lines = (done.stdout + done.stderr).splitlines()
    return "\n".join(line for line in lines if not line.endswith(notes))


def keep(options, folder, seeds, output):
    print(output)
    sys.stdout.flush()
    if not options.keep:
        return
    Path(options.keep).mkdir(parents=True, exist_ok=True)
    for seed in seeds:
        if f"fuzz_{seed}.fl" in output:
            shutil.copy(folder / f"fuzz_{seed}.fl", options.keep)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("flc")
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--batch", type=int, default=100)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--seconds", type=int, help="for a program; 20, on the device 600")
    parser.add_argument("--keep")
    parser.add_argument("--device", action="store_true", help="also run the compiled programs")
    add_kinds(parser)
    parser.add_argument("--stage", help="only that, as gpu: what the code for GPUs is made from")
    parser.add_argument("--wide", action="store_true", help="long arrays")
    parser.add_argument("--option", action="append", default=[], help="of programs on the device")
    parser.add_argument("--mpi", type=int, help="for so many processes; on the device, as these")
    parser.add_argument("--workers", type=int, help="the same, as so many workers of one process")
    parser.add_argument("--mixed", action="store_true", help="with those, for CPUs and for GPUs in turn")
    parser.add_argument("--reproducible", action="store_true", help="sums in one order")
    options = parser.parse_args()
    if options.seconds is None:
        options.seconds = 600 if options.device else 20
    start, failed = time.time(), 0
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for first in range(options.seed, options.seed + options.count, options.batch):
            seeds = range(first, min(first + options.batch, options.seed + options.count))
            output = run_batch(options, folder, seeds)
            if output:
                failed += sum(f"fuzz_{seed}.fl" in output for seed in seeds)
                keep(options, folder, seeds, output)
    print(f"{options.count} programs from seed {options.seed}, {failed} failed, "
          f"{time.time() - start:.0f} s")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
