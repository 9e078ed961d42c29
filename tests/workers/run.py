#!/usr/bin/env python3
"""Programs for several workers give what the interpreter gives: run.py FLC [RANKS...].

With RANKS every case runs with each of these numbers of workers.  Skipped (77) where there is no MPI."""
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
PROGRAM = os.path.join(HERE, "blocks.fl")
RANKS = []  # those asked for; none: another number for each case, from 1 to 4
FAILURE_SECONDS = 20

passed, failed = 0, 0


def check(good, what):
    global passed, failed
    passed, failed = passed + bool(good), failed + (not good)
    if not good:
        print("failed:", what)


def array(values, suffix):
    return "[" + ", ".join(f"{v}{suffix}" for v in values) + "]" if values else f"empty([0]{suffix})"


def matrix(rows, columns, suffix, r):
    return "[" + ", ".join(array([r.randint(-9, 9) for _ in range(columns)], suffix) for _ in range(rows)) + "]"


def cases():
    """Entry points with input values: more, as many and fewer rows than workers."""
    r = random.Random(1)

    def ints(n, suffix="i32", low=-3, high=3):
        return array([r.randint(low, high) for _ in range(n)], suffix)

    def floats(n, suffix="f64"):
        return array([round(r.uniform(-3, 3), 3) for _ in range(n)], suffix)

    for n in (1, 3, 1001):
        yield "maps", floats(n)
        yield "sums", floats(n)
        yield "compositions", ints(n) + " " + ints(n)
        yield "prefixes", ints(n) + " " + ints(n)
        yield "totals", ints(n)
        yield "chosen", ints(n, "i64", 0, 99) + " " + ("true" if n > 3 else "false")
        yield "differences", ints(n)
    yield "sums", floats(0)
    yield "prefixes", ints(0) + " " + ints(0)
    for n in (2, 3, 9, 40):
        yield "smooth", matrix(n, 3, "f32", r) + " 3i64"
    for n, m in ((2, 5), (7, 3)):
        cubes = ", ".join(matrix(m, 4, "i32", r) for _ in range(n))
        yield "turned", f"[{cubes}] 2i64"
        yield "rows", matrix(n, m, "i32", r)
        yield "products", matrix(n, m, "i32", r) + " " + matrix(m, 4, "i32", r)
    for n in (2, 50):
        yield "centres", matrix(n, 2, "f32", r)
        yield "counts", ints(n, "i64", 0, 99) + " [1i64, 2i64, 3i64, 4i64, 5i64]"
        yield "rounds", floats(n, "f32") + " 3i64"
        yield "rounds", floats(n, "f32") + " 0i64"
        yield "stencil", ints(n) + " 3i64"


def options_for(executable):
    """Every split is taken, and loops run their rounds on the host, however little work there is."""
    listed = subprocess.run([executable, "--print-params"], capture_output=True, text=True, check=True).stdout
    names = [line.split()[0] for line in listed.splitlines()]
    check(any(".workers_" in name for name in names), "the program has splits")
    options = ["--param", "default_workers=0"]
    for name in names:
        if ".loop_" in name:
            options += ["--param", name + "=0"]
    return options


# What is moved where: gathers and borders of each entry point.  Those that are not here have none: to
# gather the results of `stencil` takes longer than to compute them.
MOVES = {
    "centres": (1, 0), "chosen": (2, 0), "compositions": (2, 0), "counts": (1, 0), "differences": (2, 2), "maps": (1, 0),
    "picks": (1, 0), "prefixes": (4, 0), "products": (1, 0), "rounds": (3, 0), "rows": (3, 0), "smooth": (1, 3),
    "sums": (2, 0), "totals": (3, 0), "turned": (1, 0),
}


def moves(flc, program):
    text = subprocess.run([flc, "dump", program, "--mpi", "--after", "distribute"], capture_output=True, text=True, check=True)
    found, entry = {}, None
    for line in text.stdout.splitlines():
        if line.startswith("entry "):
            entry = line.split()[1]
        kinds = [" = gather " in line, " = border " in line]
        if any(kinds):
            before = found.get(entry, (0, 0))
            found[entry] = (before[0] + kinds[0], before[1] + kinds[1])
    return found


def mpirun(ranks, command, text):
    return subprocess.run(["mpirun", "--oversubscribe", "-n", str(ranks)] + command, input=text, text=True,
                          capture_output=True, timeout=600)


def same(flc, folder, expected, found):
    paths = []
    for name, text in (("expected", expected), ("found", found)):
        paths.append(os.path.join(folder, name))
        with open(paths[-1], "w", encoding="utf-8") as file:
            file.write(text)
    return subprocess.run([flc, "data", "--compare"] + paths, capture_output=True).returncode == 0


def compare(flc, folder, executable, options):
    for number, (entry, text) in enumerate(cases()):
        expected = subprocess.run([flc, "eval", PROGRAM, "-e", entry], input=text, text=True, capture_output=True)
        check(expected.returncode == 0, f"{entry} in the interpreter: {expected.stderr}")
        divided = subprocess.run([flc, "eval", PROGRAM, "-e", entry, "--mpi", "--after", "distribute"], input=text,
                                 text=True, capture_output=True)
        check(divided.stdout == expected.stdout, f"{entry}, divided, in the interpreter: {divided.stderr}")
        for ranks in RANKS or [1 + number % 4]:
            found = mpirun(ranks, [executable, "-e", entry] + options, text)
            good = found.returncode == 0 and same(flc, folder, expected.stdout, found.stdout)
            check(good, f"{entry} with {ranks} workers, {text[:60]}: {found.stdout[:200]}{found.stderr[:600]}")


def failures(executable, options):
    """The worker that fails says so, alone, and nobody waits; there is no result."""
    n = 40
    last = " ".join((array(range(n), "i64"), array([0] * (n - 1) + [n], "i64")))
    for ranks in RANKS or [1, 3]:
        for text, speaker, message in ((last, ranks - 1, "40"), ("[1i64] [true]", 0, "parameter at"), ("[1i64", 0, "]")):
            started = time.time()
            run = mpirun(ranks, [executable, "-e", "picks"] + options, text)
            what = f"picks with {ranks} workers: {run.stderr[:600]}"
            check(run.returncode != 0 and run.stdout == "", what)
            check(message in run.stderr, what)
            if ranks > 1:
                check(run.stderr.count("worker ") == 1 and f"worker {speaker} of {ranks}: " in run.stderr, what)
            check(time.time() - started < FAILURE_SECONDS, "slow: " + what)


def main():
    flc = sys.argv[1]
    found = moves(flc, PROGRAM)
    check(found == MOVES, f"what is moved: {found}")
    option_prices = os.path.join(HERE, "..", "..", "benchmarks", "locvolcalib.fl")
    check(moves(flc, option_prices) == {"main": (1, 0)}, "LocVolCalib moves one number per strike")
    if failed:
        sys.exit(1)
    if not shutil.which(os.environ.get("MPICC", "mpicc")) or not shutil.which("mpirun"):
        print("skipped: there is no MPI (Debian: libopenmpi-dev openmpi-bin)")
        sys.exit(77)
    os.environ.update({"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"})
    RANKS[:] = [int(word) for word in sys.argv[2:]]
    with tempfile.TemporaryDirectory() as folder:
        executable = os.path.join(folder, "blocks")
        subprocess.run([flc, "build", "--mpi", PROGRAM, "-o", executable], check=True)
        options = options_for(executable)
        compare(flc, folder, executable, options)
        failures(executable, options)
    print(f"{passed} passed, {failed} failed")
    sys.exit(failed > 0)


main()
