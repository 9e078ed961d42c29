#!/usr/bin/env python3
"""Programs for several workers give what the interpreter gives: run.py FLC [RANKS...], or run.py --has-mpi.

With RANKS every case runs with each of these numbers of workers.  Without MPI where there is none: --has-mpi says whether there is,
by exit status 77 if not."""
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
PROGRAM = os.path.join(HERE, "blocks.fl")
ORDER = os.path.join(HERE, "order.fl")
DIVIDED = os.path.join(HERE, "divided.fl")
MIXED = os.path.join(HERE, "mixed.fl")
RANKS = []  # those asked for; none: another number for each case, of those below
FAILURE_SECONDS = 60
NO_SIZE, NEGATIVE = "[3i32] -1i64", "Range 0..1..<-1 is invalid (a negative size)"
FAULTS = 16

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
        yield "middle", f"[{cubes}]"
        yield "exchanged", matrix(n, m, "i32", r) + f" {n % 4}i64 " + array([r.randrange(n) for _ in range(m)], "i64")
        yield "exchanged", matrix(m, n, "i32", r) + f" {n % 3}i64 " + array([0, m - 1, m // 2], "i64")
        yield "wanted", matrix(n, m, "i32", r)
        yield "rows", matrix(n, m, "i32", r)
        yield "columns", matrix(n, m, "i32", r)
        yield "pixels", matrix(n, m, "i32", r)
        yield "pixels", matrix(m * 5, 2, "i32", r)
        yield "boards", matrix(n, m, "i32", r) + " 3i64"
        yield "boards", matrix(m * 5, 2, "i32", r) + f" {n - 2}i64"
        yield "tables", matrix(n, m, "i32", r) + f" {n - 1}i64"
        yield "tables", matrix(m * 5, 2, "i32", r) + " 2i64"
        yield "layers", f"[{cubes}]"
        yield "deviations", matrix(n * 3, m, "i32", r)
        for rows in (1, 4 * n):
            yield "gradient", matrix(rows, m, "i32", r) + " " + ints(m) + " 3i64"
        yield "crossed", matrix(n, n, "i32", r) + " [" + ", ".join(matrix(m, n, "i32", r) for _ in range(n)) + "]"
        yield "products", matrix(n, m, "i32", r) + " " + matrix(m, 4, "i32", r)
    for n in (1, 2, 3, 8, 40):
        yield "steps", matrix(n, 1 + n % 4, "i32", r)
        yield "torus", matrix(n, 1 + n % 4, "i32", r) + " 3i64"
        yield "ends", ints(n) + " 3i64"
        yield "written", ints(n, "i32") + " 3i64"
        yield "clamped", ints(n) + " 3i64"
        yield "swapped", ints(n) + " 3i64"
        yield "neighbours", matrix(n, 1 + n % 3, "i32", r) + f" {n % 3 + 1}i64"
        yield "beyond", ints(n + 5)
        yield "filled", ints(3) + f" {n - 1}i64"
        yield "eliminated", matrix(n, 1 + n % 3, "i64", r) + f" {n % 3}i64"
        yield "cut", matrix(n, 1 + n % 3, "i64", r) + f" {n % 3}i64"
        yield "firsts", matrix(n, 3, "i32", r) + f" {n - 1}i64"
        yield "updated", matrix(n, 3, "i32", r) + " " + array(r.sample(range(-2, n + 3), n), "i64") + " 4i64"
    for n, m in ((1, 2), (3, 5), (40, 30)):
        beside = array([k if k < m else r.choice([-1, -9, m, m + 5, 10**12]) for k in r.sample(range(max(n, m) + 2), n)], "i64")
        yield "sent", ints(m, "u8", 0, 9) + " " + ints(n, "i64", 0, 99) + " " + beside
        spots = r.sample([(i, j) for i in range(-1, n + 1) for j in range(-1, 4)], n)
        yield "placed", ints(n, "i64", 0, 99) + " " + array([i for i, _ in spots], "i64") + " " + array([j for _, j in spots], "i64")
    for n in (1, 2, 40):
        yield "struck", ints(n, "i64") + " [1i64, 2i64, 3i64] -1i64"
    for n in (2, 50):
        yield "centres", matrix(n, 2, "f32", r)
        yield "counts", ints(n, "i64", 0, 99) + " [1i64, 2i64, 3i64, 4i64, 5i64]"
        yield "rounds", floats(n, "f32") + " 3i64"
        yield "rounds", floats(n, "f32") + " 0i64"
        yield "stencil", ints(n) + " 3i64"
    for k in (-7, 2, 30):
        yield "absent", ints(3) + f" {k}i64"
    yield "absent", "empty([0]i32) -1i64"
    yield "kept", "empty([0]i64) 0i64"
    yield "fewer", "empty([0]i64) 1i64"
    # Of the last blocks, of the first ones, nothing and some of all blocks is kept; and of nothing.
    for n in (1, 3, 9, 200):
        mixed = ints(n, "i64", 0, 99)
        yield "kept", array(range(n), "i64") + " 0i64"
        yield "kept", array(range(200 - n, 200)[::-1], "i64") + " 200i64"
        yield "kept", mixed + " 2000i64"
        yield "kept", mixed + " -75i64"
        for k in (n, 0, n // 2):
            yield "slices", ints(n) + f" {k}i64"
        yield "single", ints(n, "i64") + f" {n // 2}i64"
        yield "kept_rows", matrix(n, 3, "i32", r)
        yield "fewer", array(range(n), "i64") + " 2i64"
        yield "fewer", mixed + " 3i64"


# What the processes of an MPI job run, of the programs that threads do: each kind of exchange, and what fails.
EXCHANGES = (
    "absent", "beyond", "boards", "centres", "columns", "counts", "differences", "eliminated", "exchanged", "filled", "kept", "maps", "picks", "prefixes", "sent", "single", "slices",
    "struck", "sums", "swapped", "torus", "updated",
)


def some_of(program, folder, entries):
    """The program with these entry points alone, which is read and compiled in less time."""
    with open(program, encoding="utf-8") as file:
        parts = re.split(r"^(?=entry |def )", file.read(), flags=re.M)
    path = os.path.join(folder, os.path.basename(program))
    with open(path, "w", encoding="utf-8") as file:
        file.write("".join(part for part in parts if not part.startswith("entry ") or part.split()[1] in entries))
    return path


def without_gpus(path):
    """Nothing calls the host code for GPUs any more, so that it is not compiled: it is half of all."""
    with open(path, encoding="utf-8") as file:
        text, calls = re.subn(r"rt_is_gpu\(ctx\) \? entry_\w+_gpu\(ctx, &args, results\) : ", "", file.read())
    text = re.sub(r"static int (entry_\w+_gpu)\(", r"static inline int \1(", text)  # at -O0 others stay, though nothing calls them
    check(calls, "host code for GPUs")
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)


def quickly_built(flc, option, executable):
    """As `flc build`, but with no time for optimisations: the host code of so many entry points is long."""
    few = option == "--mpi" and not RANKS
    program = some_of(PROGRAM, os.path.dirname(executable), EXCHANGES) if few else PROGRAM
    subprocess.run([flc, "build", option, program, "--emit-c", "-o", executable + ".c"], check=True)
    without_gpus(executable + ".c")
    cc = os.environ.get("MPICC", "mpicc") if option == "--mpi" else os.environ.get("CC", "cc")
    words = cc.split() + ["-O0", "-std=c99", "-ffp-contract=off", "-pthread", executable + ".c", "-o", executable, "-lOpenCL", "-lm"]
    subprocess.run(words, check=True)


def options_for(executable):
    """Every split is taken, and loops run their rounds on the host, however little work there is; kernels compile quickly."""
    listed = subprocess.run([executable, "--print-params"], capture_output=True, text=True, check=True).stdout
    names = [line.split()[0] for line in listed.splitlines()]
    check(any(".workers_" in name for name in names), "the program has splits")
    options = ["--build-option", "-DFLC_QUICK", "--build-option", "-cl-opt-disable", "--param", "default_workers=0", "--param", "default_overlap=0"]
    for name in names:
        if ".loop_" in name:
            options += ["--param", name + "=0"]
    return options


# What is moved where: gathers, borders and fetches of each entry point, and deliveries.  Those that are not here have none.
MOVES = {
    "absent": (0, 0, 1), "beyond": (1, 1, 0), "boards": (4, 6, 5), "centres": (3, 0, 0), "columns": (11, 0, 0), "crossed": (7, 0, 3), "cut": (3, 0, 0), "chosen": (2, 0, 0), "clamped": (1, 1, 0), "compositions": (2, 0, 0), "counts": (1, 0, 0),
    "deviations": (18, 0, 1), "differences": (2, 2, 0), "eliminated": (3, 0, 1), "ends": (2, 1, 0), "exchanged": (4, 0, 3), "fewer": (6, 0, 4), "filled": (2, 0, 0), "firsts": (2, 0, 11), "gradient": (9, 0, 0), "kept": (6, 0, 2), "kept_rows": (5, 0, 1), "layers": (10, 0, 0),
    "maps": (1, 0, 0), "middle": (1, 0, 3), "neighbours": (3, 14, 0), "picks": (1, 0, 0), "placed": (5, 0, 0, 2), "pixels": (4, 4, 2), "prefixes": (4, 0, 0), "products": (1, 0, 0), "rounds": (3, 0, 0), "rows": (3, 0, 0), "sent": (2, 0, 0, 3), "single": (2, 0, 4), "slices": (5, 0, 4), "smooth": (1, 3, 0),
    "stencil": (1, 1, 0), "struck": (1, 1, 1), "steps": (4, 0, 5), "sums": (2, 0, 0), "swapped": (2, 2, 0), "tables": (20, 3, 3), "torus": (1, 3, 0), "totals": (3, 0, 0), "turned": (1, 0, 0), "updated": (8, 1, 0, 2), "wanted": (2, 0, 0), "written": (1, 0, 0),
}


def moves(flc, program):
    text = subprocess.run([flc, "dump", program, "--mpi", "--after", "distribute"], capture_output=True, text=True, check=True)
    found, entry = {}, None
    for line in text.stdout.splitlines():
        if line.startswith("entry "):
            entry = line.split()[1]
        kinds = [f" = {word} " in line for word in ("gather", "border", "fetch", "deliver")]
        if any(kinds):
            before = found.get(entry, (0, 0, 0, 0))
            found[entry] = tuple(a + b for a, b in zip(before, kinds))
    return {entry: all_of if all_of[3] else all_of[:3] for entry, all_of in found.items()}


# Borders that entry points have, and how many of these are of blocks with room for them: "differences", "beyond" and "tables" have
# one of what no map makes, "boards" and "pixels" of what is reshaped, "updated" in a branch.
ROOMS = {
    "beyond": (1, 1), "boards": (6, 3), "clamped": (1, 1), "differences": (2, 2), "ends": (1, 1), "neighbours": (14, 9), "pixels": (4, 0), "smooth": (3, 3), "stencil": (1, 1), "struck": (1, 1),
    "swapped": (2, 2), "tables": (3, 0), "torus": (3, 3), "updated": (1, 0),
}


def rooms(flc, program, code):
    text = subprocess.run([flc, "dump", program, "--mpi", "--after", "imp", "--code", code], capture_output=True, text=True, check=True)
    found, entry = {}, None
    for line in text.stdout.splitlines():
        if line.startswith("entry "):
            entry = line.split()[1].split("(")[0].rsplit("_", 1)[0]
        if " = gather " in line and " before and " in line:
            all_of, roomy = found.get(entry, (0, 0))
            found[entry] = (all_of + 1, roomy + (" behind " in line))
    return found


MPIRUN = os.environ.get("MPIRUN", "mpirun").split()


def mpirun(ranks, command, text):
    return subprocess.run(MPIRUN + ["-n", str(ranks)] + command, input=text, text=True,
                          capture_output=True, timeout=600)


def threads(ranks, command, text):
    """Devices of one process: the first of two cases has parts of one, the others share it."""
    device = ["-d", ",".join(["#0"] * ranks)] if ranks > os.cpu_count() else ["--split", str(ranks)]
    return subprocess.run(command[:1] + device + command[1:], input=text, text=True, capture_output=True, timeout=600)


def same(flc, folder, expected, found, *options):
    """Values in text, and those in a file."""
    path = os.path.join(folder, "expected")
    with open(path, "w", encoding="utf-8") as file:
        file.write(expected)
    return subprocess.run([flc, "data", "--compare", path, found, *options], capture_output=True).returncode == 0


def in_text(flc, expected, found):
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "found")
        with open(path, "w", encoding="utf-8") as file:
            file.write(found)
        return same(flc, folder, expected, path)


def expectations(flc, folder):
    """Cases, each with what the interpreter gives, with the program divided or not, as one worker or several."""
    out = []
    for k, (entry, text) in enumerate(cases()):
        program = some_of(PROGRAM, folder, [entry])
        expected = subprocess.run([flc, "eval", program, "-e", entry], input=text, text=True, capture_output=True)
        check(expected.returncode == 0, f"{entry} in the interpreter: {expected.stderr}")
        ranks = 1 + k % 4
        how = ["--mpi", "--after", "distribute"] + (["--ranks", str(ranks)] if ranks > 1 else [])
        several = subprocess.run([flc, "eval", program, "-e", entry] + how, input=text, text=True, capture_output=True)
        if several.stdout != expected.stdout:
            alike = several.returncode == 0 and in_text(flc, expected.stdout, several.stdout)
            check(alike, f"{entry}, as {ranks} in the interpreter: {several.stdout[:200]}{several.stderr[:300]}")
        out.append((entry, text, expected.stdout))
    none = subprocess.run([flc, "eval", PROGRAM, "-e", "filled", "--mpi", "--after", "distribute", "--ranks", "2"], input=NO_SIZE, text=True, capture_output=True)
    check(none.returncode != 0 and NEGATIVE in none.stderr, f"fewer than no points in the interpreter: {none.stdout}{none.stderr[:300]}")
    return out


def chosen(expected, start):
    """Of MPI one case of each entry point, unless numbers of workers were asked for."""
    last = {entry: (entry, text, result) for entry, text, result in expected if entry in EXCHANGES}
    return expected if RANKS or start == threads else list(last.values())


class Session:
    """Commands for a server, which are run at once: to start processes takes long."""

    def __init__(self, folder, types):
        self.folder, self.types, self.lines, self.results = folder, types, [], []

    def call(self, entry, text):
        """The path that will hold the result."""
        path = os.path.join(self.folder, f"value{len(self.results)}")
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        names = [f"in{k}" for k in range(len(self.types[entry]))]
        typed = [word for name, kind in zip(names, self.types[entry]) for word in (name, kind)]
        self.results.append(path + ".out")
        self.lines += [" ".join(["restore", path] + typed), " ".join(["call", entry, "out"] + names),
                       f"store {path}.out out", " ".join(["free", "out"] + names)]
        return path + ".out"

    def run(self, start, ranks, command):
        for path in self.results:
            if os.path.exists(path):
                os.remove(path)
        done = start(ranks, command + ["--server"], "\n".join(self.lines) + "\n")
        good = done.returncode == 0 and "%%% FAILURE" not in done.stdout
        check(good, f"a session of {ranks} workers ({start.__name__}): {done.stdout[-600:]}{done.stderr[:600]}")


def types_of(start, command):
    """Of the inputs of each entry point."""
    names = start(1, command + ["--server"], "entry_points\n").stdout.split("\n%%% OK")[0].split("\n")
    names = [name for name in names if name and "%%%" not in name]
    done = start(1, command + ["--server"], "".join(f"inputs {name}\n" for name in names))
    parts = [[line.lstrip("*") for line in part.split("\n") if line and "%%%" not in line] for part in done.stdout.split("%%% OK")]
    return dict(zip(names, parts[1:]))


def of_workers(first, expected, start):
    """What so many workers run: of threads one runs a case of each kind of exchange, and each other case two or three; processes are two, three or four."""
    if RANKS:
        return expected
    if first == 1:
        return chosen(expected, mpirun)
    return [case for k, case in enumerate(expected) if first == 2 + k % (2 if start == threads else 3)]


LAYOUTS = {}


def layouts_of(executable):
    """Those of the program, of which threads were built first: processes would have to be started for that."""
    name = os.path.basename(executable)
    if name not in LAYOUTS:
        tree = subprocess.run([executable, "--tree"], capture_output=True, text=True).stdout
        LAYOUTS[name] = sorted(set(re.findall(r"\w+\.layout_\d+", tree)))
    return LAYOUTS[name]


def compare(flc, folder, expected, start, command, types):
    """Each case with a number of workers; threads also with blocks as large as weights say, those of each layout, some of them empty; so do three processes."""
    weighed = [layout for layout in layouts_of(os.path.join(folder, "blocks")) if layout.split(".")[0] in {case[0] for case in expected}]
    for first in RANKS or ([1, 2, 3] if start == threads else [2, 3, 4]):
        session, found = Session(folder, types), []
        mine = of_workers(first, expected, start)
        if start == threads and first < 3:
            session.lines.append("code cpu quick")  # all kernels in one program; three also use the device near by
        for turn in range(2 if start == threads and first > 1 else 1):
            given = [100] * first if turn == 0 else [(first + 2 * k + 1) % 4 for k in range(first)]
            session.lines += [f"set_tuning_param weight_{k} {weight}" for k, weight in enumerate(given) if turn]
            session.lines += [f"set_tuning_param {layout}.weight_{k} {(first + k + number) % 3}" for number, layout in enumerate(weighed) for k in range(first) if turn or (start == mpirun and first == 3)]
            session.lines.append(f"set_tuning_param overlap_bytes {turn << 20}")  # the interior first, or all behind its border
            found += [(entry, text, result, given, session.call(entry, text)) for entry, text, result in mine]
        session.run(start, first, command)
        for entry, text, result, given, path in found:
            what = f"{entry} with {first} workers, weights {given} ({start.__name__}), {text[:60]}"
            check(os.path.exists(path) and same(flc, folder, result, path), what)


def in_order(flc, folder, start, option, far, bits):
    """With --reproducible: the bits of the interpreter, for every number of workers, of one thread to four processes, and weights of layouts."""
    executable, r = os.path.join(folder, "order"), random.Random(3)
    subprocess.run([flc, "build", option, "--reproducible", ORDER, "-o", executable], check=True)
    command = far + [executable, "--param", "default_workers=0"]

    def floats(n):
        return array([round(r.uniform(-3, 3), 4) for _ in range(n)], "f32")

    def rows(n, m):
        return "[" + ", ".join(floats(m) for _ in range(n)) + "]"

    cases = [(entry, floats(n)) for n in (5, 3000) for entry in ("total", "composed", "running", "bins")]
    cases += [("rounds", floats(3000) + " 3i64"), ("rows", rows(70, 33)), ("columns", rows(300, 5)), ("gradient", rows(300, 5) + " " + floats(5)), ("products", rows(90, 40) + " " + rows(40, 21))]
    cases += [("total", floats(270000)), ("total", "empty([0]f32)")]
    types, weighed = types_of(start, command), layouts_of(executable)
    for ranks in [1, 3] if start == threads else [2, 4]:
        session = Session(folder, types)
        session.lines += [f"set_tuning_param {layout}.weight_{k} {(number + 2 * k) % 5}" for number, layout in enumerate(weighed) for k in range(ranks) if ranks > 1]
        for entry, text in cases:
            session.call(entry, text)
        session.run(start, ranks, command)
        bits.append([open(path, "rb").read() for path in session.results])
        check(bits[-1] == bits[0], f"the bits of {ranks} workers ({start.__name__})")
    for (entry, text), path in zip(cases, session.results):
        if len(text) < 1000000:
            done = subprocess.run([flc, "eval", "--reproducible", "--after", "flatten", ORDER, "-e", entry], input=text, text=True, capture_output=True)
            check(same(flc, folder, done.stdout, path, "--tolerance", "0"), f"{entry}, the interpreter's bits ({start.__name__}): {done.stderr[:300]}")


def mixed(flc, folder):
    """Code for CPUs and for GPUs in one run: the interpreter's values; in each worker the same bits; failures; and who is not built for that."""
    r, executable, plain = random.Random(9), os.path.join(folder, "mixed"), os.path.join(folder, "unmixed")
    subprocess.run([flc, "build", "--workers", "--mixed", MIXED, "-o", executable], check=True)
    subprocess.run([flc, "build", "--workers", MIXED, "-o", plain], check=True)
    command, types = [executable] + options_for(executable), types_of(threads, [executable])
    xs = {n: array([round(r.uniform(-3, 3), 3) for _ in range(n)], "f32") for n in (1, 70)}
    cases = [(entry, xs[n] + rest) for n in xs for entry, rest in (("copies", " 3i64"), ("rounds", ""), ("chosen", " 2i64"), ("failing", " -1i64"), ("renamed", " " + xs[n]))]
    expected = [subprocess.run([flc, "eval", MIXED, "-e", entry], input=text, text=True, capture_output=True).stdout for entry, text in cases]
    for codes in ("cpu,gpu", "gpu,cpu,gpu"):
        session, ranks = Session(folder, types), codes.count(",") + 1
        for entry, text in cases:
            session.call(entry, text)
        session.run(threads, ranks, command + ["--code", codes])
        for (entry, text), result, path in zip(cases, expected, session.results):
            check(os.path.exists(path) and same(flc, folder, result, path), f"{entry} by {codes}: {text[:60]}")
    for at, speaker in ((0, 0), (69, 2)):
        run = threads(3, command + ["-e", "failing", "--code", codes], xs[70] + f" {at}i64")
        good = run.returncode != 0 and run.stdout == "" and run.stderr.count("error:") == 1 and f"worker {speaker} of 3: " in run.stderr
        check(good, f"a failure at {at} by {codes}: {run.stdout}{run.stderr[:300]}")
    values = os.path.join(folder, "timed")
    with open(values, "w", encoding="utf-8") as file:
        file.write(xs[70] + " 3i64")
    run = threads(2, command + ["--code", "cpu,gpu", "--server"], f"restore {values} xs []f32 k i64\nrace copies 2 xs k -\nworker_times\n")
    times = [float(line) for line in run.stdout.split("%%% OK")[3].split()] if run.stdout.count("%%% OK") == 4 else []
    check(len(times) == 2 and min(times) > 0, f"what each worker takes: {run.stdout[-300:]}{run.stderr[:300]}")
    run = threads(2, [plain, "-e", "copies", "--code", "cpu,gpu"], xs[70] + " 3i64")
    check(run.returncode != 0 and "(--mixed)" in run.stderr and run.stderr.count("error:") == 1, f"not built for that: {run.stdout}{run.stderr[:300]}")


def divided(flc, folder, start, option, far):
    """Each has its rows of what #[blocks] names, which it reads itself from a file, and of results; rank 0 writes them in order."""
    executable, r = os.path.join(folder, "divided"), random.Random(7)
    subprocess.run([flc, "build", option, DIVIDED, "-o", executable], check=True)
    command = far + [executable, "--param", "default_workers=0"]

    def values(suffix, *shape):
        if not shape:
            return (f"{r.randint(-30, 30) / 4}" if suffix[0] == "f" else f"{r.randint(-9, 9)}") + suffix
        if 0 in shape:
            return "empty(" + "".join(f"[{size}]" for size in shape) + suffix + ")"
        return "[" + ", ".join(values(suffix, *shape[1:]) for _ in range(shape[0])) + "]"

    for ranks, n in ((1, 5), (3, 2), (3, 10), (4, 0)) if start == threads else ((3, 7),):
        for entry, parts in (("axpy", [values("i64"), values("i64", n), values("i64", n)]), ("spread", [values("f64", n, 3), "3i64"]),
                             ("mixed", [values("f32", n), values("i64", n, 2), values("f32", 5)])):
            text, path = " ".join(parts), os.path.join(folder, "values")
            expected = subprocess.run([flc, "eval", DIVIDED, "-e", entry], input=text, text=True, capture_output=True).stdout
            with open(path, "wb") as file:
                file.write(subprocess.run([flc, "data", "-b"], input=text.encode(), capture_output=True).stdout)
            for options, given in ((["-i", path], ""), ([], text), (["-i", path, "--param", "weight_0=0" if ranks > 1 else "weight_0=7", *([] if entry == "axpy" else ["--param", f"{entry}.layout_1.weight_{ranks - 1}=9"]), "--path", f"{entry}.workers_0=F"], "")):
                run = start(ranks, command + ["-e", entry] + options, given)
                what = f"{entry} of {n} rows, {ranks} workers ({start.__name__}), {options}: {run.stdout}{run.stderr[:300]}"
                check(run.returncode == 0 and in_text(flc, expected, run.stdout), what)
    divided_traffic(folder, start, command, values)
    divided_server(flc, folder, start, command, values)
    divided_refusals(folder, start, command, path)


def divided_traffic(folder, start, command, values):
    """Nothing is moved but what rank 0 writes."""
    path = os.path.join(folder, "many")
    with open(path, "w", encoding="utf-8") as file:
        file.write("3i64 " + values("i64", 1000) + values("i64", 1000))
    for options, received in ((["-n"], [0, 0]), (["-o", path + ".out"], [8 + 32 + 4000, 8 + 32])):
        run = start(2, command + ["-e", "axpy", "-L", "-i", path] + options, "")
        found = dict(re.findall(r"worker (\d) of 2: .*? (\d+) received", run.stderr))
        check(found == {str(k): str(count) for k, count in enumerate(received)}, f"bytes received, {options} ({start.__name__}): {found} {run.stderr[-300:]}")


def divided_server(flc, folder, start, command, values):
    """Results that calls take as they lie, by other weights, and whole."""
    path, out = os.path.join(folder, "served_rows"), os.path.join(folder, "served_rows.out")
    xs, ys = values("i64", 11), values("i64", 11)
    with open(path, "w", encoding="utf-8") as file:
        file.write("3i64 " + xs + ys)
    lines = [f"restore {path} a i64 x []i64 y []i64", "call axpy z a x y", "call axpy u a z z", "set_tuning_param weight_1 350", "call axpy v a u z",
             "call whole s v", "call axpy t a v x", f"store {out} u v s t x", "shape t", "index at v 10", "store " + out + ".at at"]
    run = start(3, command + ["--server"], "\n".join(lines) + "\n")
    xs, ys = ([int(word) for word in re.findall(r"(-?\d+)i64", text)] for text in (xs, ys))
    zs = [3 * x + y for x, y in zip(xs, ys)]
    us = [4 * z for z in zs]
    vs = [3 * u + z for u, z in zip(us, zs)]
    ts = [3 * v + x for v, x in zip(vs, xs)]
    expected = " ".join((array(us, "i64"), array(vs, "i64"), f"{vs[-1] + sum(vs)}i64", array(ts, "i64"), array(xs, "i64")))
    good = run.returncode == 0 and "FAILURE" not in run.stdout and "\n11\n" in run.stdout and same(flc, folder, f"{vs[-1]}i64", out + ".at")
    check(good and same(flc, folder, expected, out), f"a server of divided arrays ({start.__name__}): {run.stdout[-300:]}{run.stderr[:300]}")


def divided_refusals(folder, start, command, path):
    """Files that are not there, end too early, or are other ones for another process."""
    with open(path, "rb") as file:
        whole = file.read()
    with open(path + ".cut", "wb") as file:
        file.write(whole[:-3])
    for name, message in ((path + ".none", "cannot read " + path), (path + ".cut", "elements, found")):
        run = start(2, command + ["-e", "mixed", "-i", name], "")
        check(run.returncode != 0 and run.stdout == "" and message in run.stderr and run.stderr.count("error:") == 1, f"{name}: {run.stdout}{run.stderr[:300]}")
    if start != mpirun:
        return
    other = os.path.join(folder, "elsewhere")
    os.makedirs(other)
    for place, text in ((folder, "3i64 [1i64, 2i64] [3i64, 4i64]"), (other, "4i64 [1i64, 2i64] [3i64, 4i64]")):
        with open(os.path.join(place, "beside"), "w", encoding="utf-8") as file:
            file.write(text)
    words = command + ["-e", "axpy", "-i", "beside"]
    run = subprocess.run(MPIRUN + ["-n", "1", "-wdir", folder] + words + [":", "-n", "1", "-wdir", other] + words, text=True, capture_output=True, timeout=600)
    check(run.returncode != 0 and run.stdout == "" and "beside is not the same for all workers" in run.stderr, f"two files: {run.stdout}{run.stderr[:300]}")


def strangers(command):
    """Processes that the mpirun of another MPI has started do not each print the result."""
    ours = subprocess.run(MPIRUN + ["--version"], capture_output=True, text=True).stdout
    size, rank = ("PMI_SIZE", "PMI_RANK") if "Open MPI" in ours else ("OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_RANK")
    for number in (0, 1):
        environment = dict(os.environ, **{size: "2", rank: str(number)})
        run = subprocess.run(command + ["-e", "picks"], input="[1i64] [0i64]", capture_output=True, text=True, env=environment)
        said = "mpirun has started 2 processes" in run.stderr
        check((run.returncode, run.stdout, said) == (1 - number, "", number == 0), f"a stranger: {run.stdout}{run.stderr[:300]}")


def failures(flc, folder, start, command):
    """The worker that fails says so, alone, and nobody waits; there is no result."""
    n = 40
    last = " ".join((array(range(n), "i64"), array([0] * (n - 1) + [n], "i64")))
    for ranks in RANKS or [1, 3] if start == threads else [3]:
        for text, options, speaker, message in (
            (last, [], ranks - 1, "40"),
            ("[1i64] [true]", [], None, "parameter at"),
            ("[1i64", [], None, "]"),
            ("[1i64] [0i64]", ["-t", "/nowhere/times"], 0, "/nowhere/times"),
            ("[1i64] [0i64]", ["-o", "/dev/full"], 0, "/dev/full"),
            ("[1i64] [0i64]", ["-d", "#99"], None, "#99"),
        ):
            if start == mpirun and message in ("]", "/nowhere/times"):  # which is said before they talk of anything else
                continue
            started = time.time()
            run = start(ranks, command + ["-e", "picks"] + options, text)
            what = f"picks with {ranks} workers ({start.__name__}): {run.stderr[:600]}"
            check(run.returncode != 0 and run.stdout == "", what)
            check(message in run.stderr, what)
            if ranks > 1:
                check(run.stderr.count("error:") == 1, what)
                check(run.stderr.count("worker ") == (speaker is not None), what)
                check(speaker is None or f"worker {speaker} of {ranks}: " in run.stderr, what)
            check(time.time() - started < FAILURE_SECONDS, "slow: " + what)

        path = os.path.join(folder, "saved")
        saved = start(ranks, command + ["-e", "picks", "-o", path], "[1i64] [0i64]")
        good = saved.returncode == 0 and saved.stdout == "" and os.path.exists(path) and same(flc, folder, "1i64", path)
        check(good, f"a result in a file, {ranks} workers ({start.__name__}): {saved.stderr[:300]}")
        none = start(ranks, command + ["-e", "filled"], NO_SIZE)
        beside = start(ranks, command + ["-e", "eliminated"], "[[1i64], [2i64]] 1i64")
        good = "Index [1, 1] out of bounds for array of shape [2][1]." in beside.stderr and beside.stdout == ""
        check(beside.returncode != 0 and good, f"eliminated with {ranks} workers ({start.__name__}): {beside.stderr[:600]}")
        good = "blocks.fl" in none.stderr and NEGATIVE in none.stderr and "worker " not in none.stderr
        check(none.returncode != 0 and none.stdout == "" and good, f"filled with {ranks} workers ({start.__name__}): {none.stderr[:600]}")
        short = start(ranks, command + ["-e", "beyond"], "[1i32, 2i32, 3i32]")
        good = "blocks.fl" in short.stderr and "Index [3] out of bounds for array of shape [3]." in short.stderr
        check(short.returncode != 0 and short.stdout == "" and good, f"beyond with {ranks} workers ({start.__name__}): {short.stderr[:600]}")


def serve(flc, folder, start, command):
    """Commands that fail, some of them in one worker only, and calls after them, which give what they gave before."""
    n, texts, lines = 40, os.path.join(folder, "served.in"), []
    with open(texts, "w", encoding="utf-8") as file:
        file.write(" ".join(array(range(k, n + k), "i64") for k in (0, 1, 2, 3)))
    lines.append(f"restore {texts} x0 []i64 x1 []i64 x2 []i64 x3 []i64")
    out = [os.path.join(folder, f"served{k}") for k in range(4)]
    for k, path in enumerate(out):
        lines += [f"call picks r{k} x{k} x0", f"store {path} r{k}"] + ["call picks none x0 x1"] * (1 + k % 2)
    made = len(lines)
    lines += [
        "call picks out x0 nothing", "restore /nowhere d i64", "new_array d []i64 1 true",
        "call sums out nothing", "set_tuning_param weight_0 0", "set_tuning_param weight_x 0", "nonsense", "entry_points",
    ]
    run = start(2, command + ["--server"], "\n".join(lines) + "\n")
    what = f"a server of 2 workers ({start.__name__}): {run.stdout[-300:]}{run.stderr[:300]}"
    check(run.returncode == 0 and run.stdout.count("%%% OK") == len(lines) + 1, what)
    check(run.stdout.count("\npicks\n") == 1, what)
    check(run.stdout.count("worker 1 of 2: ") == made - 1 - 2 * len(out), what)  # 1 for `restore`; each is called and stored
    for first, path in enumerate(out):
        picked = f"{sum(k * k for k in range(first, n + first))}i64"
        check(os.path.exists(path) and same(flc, folder, picked, path), f"a call after one that failed: {path} ({start.__name__})")


def struck(flc, folder, start, command):
    """One of three workers fails in a round; the others, whose borders are underway, hear of it, and the next call is as if nothing had been."""
    n, text, lines = 3000, os.path.join(folder, "struck.in"), []
    xs = list(range(n))
    for _ in range(4):
        xs = [xs[i - 1] + xs[i] + 1 + i % 3 if i else xs[0] for i in range(n)]
    places = (1, 999, 1000, 1999, 2000, 2999)
    with open(text, "w", encoding="utf-8") as file:
        file.write(array(range(n), "i64") + " [1i64, 2i64, 3i64] " + " ".join(f"{at}i64" for at in places + (-1,)))
    typed = " ".join(f"at{k} i64" for k in range(len(places) + 1))
    lines.append(f"restore {text} xs []i64 table []i64 {typed}")
    lines += [f"call struck out{k} xs table at{k}" for k in range(len(places) + 1)]
    result = os.path.join(folder, "struck.out")
    run = start(3, command + ["--server"], "\n".join(lines + [f"store {result} out{len(places)}"]) + "\n")
    told = [run.stdout.count(f"worker {rank} of 3: ") for rank in range(3)]
    good = run.returncode == 0 and told == [2, 2, 2] and run.stdout.count("%%% FAILURE") == len(places)
    check(good and same(flc, folder, array(xs, "i64"), result), f"struck ({start.__name__}): {run.stdout[-300:]}{run.stderr[:300]}")


def processes_of(path):
    """{pid: rank} of those that run with this argument."""
    found = {}
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/cmdline", "rb") as words, open(f"/proc/{pid}/environ", "rb") as variables:
                rank = re.search(rb"(?:^|\0)(?:OMPI_COMM_WORLD_RANK|PMI_RANK)=(\d+)", variables.read())
                if rank and path.encode() in words.read().split(b"\0"):
                    found[int(pid)] = int(rank[1])
        except OSError:  # it has ended
            pass
    return found


def killed(folder, command):
    """One of three processes is killed between its first and its last run: mpirun ends the others, and there is no result."""
    given = os.path.join(folder, "killed.in")
    with open(given, "w", encoding="utf-8") as file:
        file.write("[1i64, 2i64] [0i64, 1i64]")
    for rank in range(3):
        path, seen = os.path.join(folder, f"killed{rank}"), set()
        words = MPIRUN + ["-n", "3"] + command + ["-e", "picks", "-L", "-r", "100000000", "-o", path]
        with open(given, "rb") as text, subprocess.Popen(words, stdin=text, stdout=subprocess.PIPE, stderr=subprocess.STDOUT) as job:
            # All must be in a run: an mpirun may hang where a process is killed before MPI knows it.
            for line in job.stdout:
                seen |= {int(word) for word in re.findall(rb"\[([012])\] launch", line)}
                if len(seen) == 3:
                    break
            pids = [pid for pid, of in processes_of(path).items() if of == rank]
            if pids:
                os.kill(min(pids), signal.SIGKILL)
            try:
                said = job.communicate(timeout=FAILURE_SECONDS)[0]
            except subprocess.TimeoutExpired:
                job.kill()
                said = job.communicate()[0]
            ended, until = (job.returncode or 0) > 0, time.time() + FAILURE_SECONDS
            while processes_of(path) and time.time() < until:
                time.sleep(0.1)
            good = pids and ended and not processes_of(path) and not os.path.exists(path)
            check(good, f"process {rank} of 3 is killed: {pids}, {job.returncode}, {processes_of(path)}, {said[-300:]}")


def faults(flc, folder, command):
    """Calls of OpenCL fail, once or from then on, in one worker or the other: all end, and nothing is left over but contexts."""
    source = os.path.join(HERE, "..", "runtime", "faulty_opencl.c")
    library, report = os.path.join(folder, "faulty.so"), os.path.join(folder, "report")
    built = subprocess.run(["cc", "-shared", "-fPIC", source, "-o", library, "-ldl", "-pthread"], capture_output=True, text=True)
    check(built.returncode == 0, built.stderr)
    command = command[:1] + ["-d", "#0,#0"] + command[1:] + ["-e", "differences"]
    text, large = array(range(40), "i32"), array(range(100000), "i32")

    def run(at, lost, text, *settings):
        environment = dict(os.environ, LD_PRELOAD=library, FAULTY_AT=str(at), FAULTY_REPORT=report)
        if lost:
            environment["FAULTY_LOST"] = "1"
        done = subprocess.run(command + list(settings), input=text, text=True, capture_output=True, timeout=60, env=environment)
        with open(report, encoding="utf-8") as file:
            return done, [int(word) for word in file.read().split()]

    good, (calls, _, alive, misuses) = run(0, False, text)
    check(good.returncode == 0 and good.stdout and alive == 2 and misuses == 0, f"no fault: {good.stderr[:300]}")
    # Enough for a split that depends on what exchanges take, which calls OpenCL.
    measures = ["--param", "default_workers=262144", "-L"]
    measured, (more, _, _, _) = run(0, False, large, *measures)
    check("an exchange takes" in measured.stderr, f"measured: {measured.stderr[:300]}")
    for k in range(FAULTS + FAULTS // 4):
        at = 1 + (k * calls + k) // FAULTS if k < FAULTS else more * (k - FAULTS + 2) // FAULTS
        expected, given = (good, [text]) if k < FAULTS else (measured, [large] + measures)
        done, (_, happened, alive, misuses) = run(at, k % 2, *given)
        what = f"call {at} of {calls} fails: {done.stdout[:100]}{done.stderr[:300]}"
        ended = done.stdout == "" and done.stderr.count("error:") == 1 if done.returncode else done.stdout == expected.stdout
        check(happened and ended and done.returncode in (0, 1), what)
        check(misuses == 0 and (alive <= 2 or k % 2), f"{alive} objects left, {misuses} misused; " + what)


def compiled(flc, folder, name, source, *options):
    """The C program with its library, made with these options of flc lib; its path."""
    path = os.path.join(folder, name)
    with open(path + ".c", "w", encoding="utf-8") as file:
        file.write(source)
    base = os.path.join(folder, re.search(r'#include "(\w+)\.h"', source)[1])
    options = options or ("--mpi",)
    library = base + "".join(options) + ".o"
    cc = [os.environ.get("MPICC", "mpicc") if "--mpi" in options else "cc", "-Wall", "-Wextra", "-Werror", "-pthread"]
    if not os.path.exists(library):
        subprocess.run([flc, "lib", *options, base + ".fl"], check=True)
        check(subprocess.run(cc + ["-c", base + ".c", "-o", library]).returncode == 0, "a library compiles")
    built = subprocess.run(cc + [path + ".c", library, "-o", path, "-lOpenCL", "-lm"], capture_output=True, text=True)
    check(built.returncode == 0, built.stderr[:600])
    return path


def examples(folder):
    """The C programs of docs/machines.md; their Fl programs are put into the folder."""
    with open(os.path.join(HERE, "..", "..", "docs", "machines.md"), encoding="utf-8") as file:
        text = file.read()
    for name, program in re.findall(r"^```fl (\w+\.fl)\n(.*?)^```$", text, re.S | re.M):
        with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
            file.write(program)
    return re.findall(r"^```c\n(.*?)^```$", text, re.S | re.M)


def team(flc, folder):
    """A library for several devices: parts of the first, as many as there are cores or more; alone; and failures."""
    plate, lines = examples(folder)[2], None
    alone = plate.replace("  fl_context_config_set_team(cfg, team, rank);\n", "(void)team;").replace("WORKERS = 3", "WORKERS = 1")
    bad = plate.replace("&both, in,", "&both, rank == 1 ? NULL : in,")
    for name, source in (("alone", alone), ("plates", plate), ("plates2", plate.replace("WORKERS = 3", "WORKERS = 2"))):
        run = subprocess.run([compiled(flc, folder, name, source, "--workers")], capture_output=True, text=True, timeout=60)
        lines = lines or run.stdout
        check(run.returncode == 0 and run.stdout.count("row ") == 4 and run.stdout == lines, f"a team, {name}: {run.stdout}{run.stderr[:300]}")
    kinds = plate.replace("WORKERS = 3", "WORKERS = 2").replace("_set_team(cfg, team, rank);", '_set_team(cfg, team, rank);\n  fl_context_config_set_code(cfg, rank ? "cpu" : "gpu");')
    run = subprocess.run([compiled(flc, folder, "kinds", kinds, "--workers", "--mixed")], capture_output=True, text=True, timeout=60)
    check(run.returncode == 0 and run.stdout == lines, f"a team with both codes: {run.stdout}{run.stderr[:300]}")
    run = subprocess.run([compiled(flc, folder, "bad_plates", bad, "--workers")], capture_output=True, text=True, timeout=60)
    check(run.returncode != 0 and not run.stdout and run.stderr.startswith("worker 1 of 3: parameter heat"), f"a team fails: {run.stdout}{run.stderr[:300]}")
    uneven = plate.replace("in = fl_new_f32_2d(ctx, rows, count,", "in = fl_new_f32_2d(ctx, rows, count - (rank == 2),")
    run = subprocess.run([compiled(flc, folder, "uneven_plates", uneven, "--workers")], capture_output=True, text=True, timeout=60)
    check(run.returncode != 0 and not run.stdout and "parameter heat: expected a block of " in run.stderr, f"uneven blocks of a team: {run.stdout}{run.stderr[:300]}")


def library(flc, folder):
    """The examples of docs/machines.md; and what fails in one process fails in all."""
    norms, heat = examples(folder)[:2]
    path = compiled(flc, folder, "good", norms)
    alone, several = mpirun(1, [path], ""), mpirun(3, [path], "")
    check(alone.returncode == 0 and abs(float(alone.stdout) - 32775245.295) < 0.1, f"the example: {alone.stderr[:300]}")
    check(several.stdout == alone.stdout, f"the example, three times: {several.stdout}{several.stderr[:300]}")
    bad = mpirun(3, [compiled(flc, folder, "bad", norms.replace("out, in)", "out, rank == 1 ? NULL : in)"))], "")
    check(bad.returncode != 0 and not bad.stdout and "worker 1 of 3: parameter xs" in bad.stderr, f"a library fails: {bad.stderr[:300]}")
    path = compiled(flc, folder, "plate", heat)
    alone, several = mpirun(1, [path], ""), mpirun(3, [path], "")
    check(alone.returncode == 0 and alone.stdout.count("row ") == 4, f"blocks: {alone.stderr[:300]}")
    check(sorted(several.stdout.split("\n")) == sorted(alone.stdout.split("\n")), f"blocks, three times: {several.stdout}{several.stderr[:300]}")
    uneven = mpirun(2, [compiled(flc, folder, "uneven", heat.replace("count, COLUMNS)", "count - 3 * (start > 0), COLUMNS)"))], "")
    check(uneven.returncode != 0 and not uneven.stdout and "parameter heat: expected a block of " in uneven.stderr, f"uneven blocks: {uneven.stderr[:300]}")
    with open(os.path.join(folder, "heat.c"), encoding="utf-8") as file:
        code = re.search(r"^[\w ]*static int entry_main_cpu\(.*?^}$", file.read(), re.S | re.M)[0]
    # The one gather is for the loop of few rounds, in one item.
    found = (code.count("rt_workers_gather(ctx"), code.count("rt_workers_border(ctx"))
    check(found == (1, 3), f"gathers and borders of the example: {found}")


# What --explain-copies says of a program, beside places.
MOVED = """#[blocks(ys)]
entry main [n] (xs: [n]f64) (is: [n]i64) (ys: [n]f64) : ([n]f64, f64) =
  let zs = map (\\x -> loop x for _i < 30 do f64.exp (f64.sin x)) xs
  let ws = scatter (replicate n 0) is zs
  let ts = map (f64.sqrt) (tail ws)
  let near = map (\\i -> ys[i64.max 0 (i - 1)] + 1) (iota n)
  in (map2 (\\y i -> y + zs[i] + near[i]) ys is, f64.sum ts)
"""
EXPLAINED = (
    "workers send values for `scatter (replicate n 0) is zs` to those that have the rows",
    "every worker goes through all points of `scatter (replicate n 0) is zs`, and writes its rows",
    "neighbours exchange rows of `ys`, 1 before and 0 behind each block: ",
    "workers fetch rows of `scatter (replicate n 0) is zs` from each other: `f64.sum ts` at ",
    "workers exchange what each has of `f64.sum ts`, and combine it",
    ", [n]f64: `map2 (\\y i -> y + zs[i] + near[i]) ys is...` at ",
)


def explained(flc, folder):
    """flc build --explain-copies, of several workers and of one."""
    path = os.path.join(folder, "moved.fl")
    with open(path, "w", encoding="utf-8") as file:
        file.write(MOVED)
    words = [flc, "build", "--emit-c", "--explain-copies", path]
    for option in ("--workers", "--mpi"):
        told = subprocess.run(words + [option], capture_output=True, text=True).stderr
        check(all(told.count(line) >= 1 for line in EXPLAINED), f"what is moved, in words: {told}")
    alone = subprocess.run(words, capture_output=True, text=True).stderr
    check("worker" not in alone and alone.count("\n") == 1, f"one worker moves nothing: {alone}")


BLOCKS_REFUSED = (
    ("#[blocks(x)]", "1:10: error: `x` has no rows, as many as a size of `main` says"),
    ("#[blocks(few)]", "1:10: error: `few` has no rows, as many as a size of `main` says"),
    ("#[blocks(pair)]", "1:10: error: `pair` has no rows, as many as a size of `main` says"),
    ("#[blocks(xs, zs)]", "1:14: error: no parameter `zs` of `main`"),
    ("#[blocks(n)]", "1:10: error: no parameter `n` of `main`"),
    ("#[blocks(3)]", "1:10: error: no parameter `3` of `main`"),
    ("#[blocks(xs(x))]", "1:10: error: no parameter `xs(..)` of `main`"),
    ("#[blocks]", "1:3: error: `blocks` names no parameter of `main`"),
)


def refusals(flc, folder):
    """#[blocks] names parameters with rows, in whatever is built of the program."""
    path = os.path.join(folder, "refused.fl")
    for attribute, message in BLOCKS_REFUSED:
        with open(path, "w", encoding="utf-8") as file:
            file.write(attribute + "\nentry main [n] (xs: [n]i32) (few: [40]i32) (pair: ([n]i32, i32)) (x: i32) : [n]i32 =\n"
                                   "  map2 (\\a b -> a + b + x + few[0] + pair.1) xs pair.0\n")
        done = subprocess.run([flc, "check", path], capture_output=True, text=True)
        check(done.returncode == 1 and message in done.stderr and done.stderr.count("error:") == 1, f"{attribute}: {done.stderr[:300]}")


PARTLY = """
#[blocks(xs)]
entry main [n] (ys: [n]i32) (xs: [n]i32) : ([n]i32, i32) =
  let zs = map2 (\\x y -> x * 2 + y) xs ys
  in (map (+ zs[n - 1]) zs, i32.sum zs)
"""

PARTLY_MAIN = """#include "partly.h"
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv) {
  int64_t start = 0, count = 0;
  int32_t sum = 0, xs[40] = { 0 }, ys[40];
  int n = argc > 1 ? atoi(argv[1]) : 0;
  MPI_Init(&argc, &argv);
  struct fl_context_config *cfg = fl_context_config_new();
  int error = fl_context_config_set_mpi(cfg, MPI_Comm_c2f(MPI_COMM_WORLD));
  struct fl_context *ctx = fl_context_new(cfg);
  fl_context_block(ctx, n, &start, &count);
  for (int i = 0; i < n; i++) {
    xs[i] = (int)start + i;
    ys[i] = i * i;
  }
  struct fl_i32_1d *in = fl_new_i32_1d(ctx, xs, count), *all = fl_new_i32_1d(ctx, ys, n), *out = NULL;
  struct fl_opaque_tup2_arr1d_i32_i32 *both = NULL;
  if (!error) error = fl_entry_main(ctx, &both, all, in);
  if (!error) error = fl_project_opaque_tup2_arr1d_i32_i32_0(ctx, &out, both);
  if (!error) error = fl_project_opaque_tup2_arr1d_i32_i32_1(ctx, &sum, both);
  if (!error) error = fl_values_i32_1d(ctx, out, xs);
  if (!error) error = fl_context_sync(ctx);
  if (error) fprintf(stderr, "%s\\n", fl_context_get_error(ctx));
  for (int i = 0; i < count && !error; i++)
    printf("%d: %d, %d\\n", (int)start + i, xs[i], sum);
  MPI_Finalize();
  return error != 0;
}
"""


def partly(flc, folder):
    """Parameters that #[blocks] does not name are whole, also where they share a size with one that it names; fewer rows than processes."""
    with open(os.path.join(folder, "partly.fl"), "w", encoding="utf-8") as file:
        file.write(PARTLY)
    path = compiled(flc, folder, "parts", PARTLY_MAIN)
    for ranks, n in ((3, 5), (4, 2)):
        zs = [2 * i + i * i for i in range(n)]
        expected = [f"{i}: {z + zs[-1]}, {sum(zs)}" for i, z in enumerate(zs)]
        run = mpirun(ranks, [path, str(n)], "")
        check(run.returncode == 0 and sorted(run.stdout.split("\n")[:-1]) == expected, f"{n} rows, partly in blocks of {ranks}: {run.stdout}{run.stderr[:300]}")


def measured(flc, folder):
    """flc bench with processes."""
    path = os.path.join(folder, "measured.fl")
    with open(path, "w", encoding="utf-8") as file:
        file.write("-- ==\n-- input { [1f64, 2f64, 3f64] }\nentry main [n] (xs: [n]f64) : f64 = f64.sum xs\n")
    done = subprocess.run([flc, "bench", "--mpi", "2", "-r", "2", "--no-convergence-phase", path], capture_output=True, text=True)
    check(done.returncode == 0 and "2 runs" in done.stdout, f"flc bench --mpi: {done.stdout[:300]}{done.stderr[:300]}")


PRICED = """entry main [n] (xs: [n]f64) (rounds: i64) : f64 =
  let ys = loop xs for i < rounds do map (\\x -> f64.sin (x + xs[i])) xs
  in f64.sum ys + f64.sum (map (\\i -> f64.cos (f64.i64 i)) (iota (n + rounds)))
"""


def layouts(executable, text, folder):
    """Each layout has weights, of a tuning file or set; those that nobody has set are the program's."""
    values = os.path.join(folder, "priced.in")
    with open(values, "w", encoding="utf-8") as file:
        file.write(text)
    first, second = (f"main.layout_{k}.weight_" for k in (1, 2))
    session = [("tuning_params main", f"weight_0 weight\nweight_1 weight\n{first}0 weight\n{first}1 weight\n{second}0 weight\n{second}1 weight"),
               (f"tuning_param_value {second}1", "300"), (f"tuning_param_value {second}0", "100"), (f"tuning_param_value {first}1", "50"),
               ("set_tuning_param weight_1 70", ""), (f"tuning_param_about {first}1", "70 1000000"), (f"tuning_param_class {first}1", "weight"),
               (f"set_tuning_param {first}0 0", ""), (f"set_tuning_param {first}1 0", None), (f"tuning_param_value {first}1", "70"),
               ("set_tuning_param main.layout_3.weight_0 1", None), ("set_tuning_param main.workers_0.weight_0 1", None),
               (f"restore {values} xs []f64 k i64", ""), (f"race main 2 xs k {first}0=900,{second}0=0 -", None), ("worker_times", None), (f"tuning_param_value {second}0", "100")]
    replies = threads(2, [executable, "--server"], "".join(line + "\n" for line, _ in session)).stdout.split("%%% OK\n")[1:]
    for (line, expected), reply in zip(session, replies):
        good = expected in reply.strip("\n") if expected is not None else "FAILURE" in reply or "\"us\"" in reply or re.fullmatch(r"\s*([\d.]+\n){2}", reply)
        check(good, f"{line}: {reply[:300]}")
    check(len(replies) == len(session) + 1, f"replies on layouts: {len(replies)}")
    none = threads(2, [executable, "--param", first + "0=0", "--param", first + "1=0"], text)
    check(none.returncode != 0 and "the weights of all workers are 0" in none.stderr, f"no weights in a layout: {none.stderr[:300]}")


def priced(flc, folder):
    """What exchanges take is measured at the start, or set; what they take longer for than it is worth is not divided, unless it must be."""
    path = os.path.join(folder, "priced.fl")
    with open(path, "w", encoding="utf-8") as file:
        file.write(PRICED)
    with open(path + ".tuning", "w", encoding="utf-8") as file:
        file.write("main.layout_2.weight_1=300\nweight_1=50\nmain.layout_7.weight_0=1\n")
    dump = subprocess.run([flc, "dump", path, "--workers", "--after", "distribute"], capture_output=True, text=True).stdout
    check(", 1 exchange for 1 seg-op" in dump, f"what a split knows of its exchanges: {dump[:400]}")
    executable, text = path[:-3], array(range(100000), "f64") + " 3i64"
    subprocess.run([flc, "build", "--workers", path, "-o", executable], check=True)
    results = set()
    for settings, taken in (("exchange_ns=1000 megabyte_ns=1000", True), ("exchange_ns=1000000", False),
                            ("exchange_ns=1000000 default_workers=0", True), ("exchange_ns=1000000 main.workers_0=1000000 main.workers_1=1000000", True), ("", None)):
        params = [word for setting in settings.split() for word in ("--param", setting)]
        done = threads(2, [executable, "-L"] + params, text)
        guard = [line for line in done.stderr.splitlines() if line.startswith("[1] guard main.workers_0: ")]
        told = [line for line in done.stderr.splitlines() if line.startswith("[0] an exchange takes ")]
        good = len(guard) == 1 and taken in (None, not guard[0].endswith("not taken")) and bool(told) == (settings == "exchange_ns=1000000" or not settings)
        check(done.returncode == 0 and good, f"{settings}: {guard} {told} {done.stderr[:300]}")
        results.add(done.stdout[:8])
    check(len(results) == 1, f"divided or not: {results}")
    layouts(executable, text, folder)


def no_weights(command):
    none = threads(2, command + ["-e", "picks", "--param", "weight_0=0", "--param", "weight_1=0"], "[1i64] [0i64]")
    check(none.returncode != 0 and none.stdout == "" and "weight" in none.stderr, f"no weights: {none.stderr[:300]}")


def has_mpi():
    return shutil.which(os.environ.get("MPICC", "mpicc")) and shutil.which(MPIRUN[0])


def main():
    flc = sys.argv[1]
    if flc == "--has-mpi":
        sys.exit(0 if has_mpi() else 77)
    found = moves(flc, PROGRAM)
    check(found == MOVES, f"what is moved: {found}")
    found = rooms(flc, PROGRAM, "cpu")
    check(found == ROOMS, f"blocks with room for borders: {found}")
    check(all(not roomy for _, roomy in rooms(flc, PROGRAM, "gpu").values()), "rooms on GPUs")
    option_prices = os.path.join(HERE, "..", "..", "benchmarks", "locvolcalib.fl")
    check(moves(flc, option_prices) == {"main": (1, 0, 0)}, "LocVolCalib moves one number per strike")
    RANKS[:] = [int(word) for word in sys.argv[2:]]
    kinds = [("--workers", threads)]
    if has_mpi():
        os.environ.update({"OMPI_MCA_rmaps_base_oversubscribe": "1", "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"})
        kinds.append(("--mpi", mpirun))
    else:
        print("without MPI, which is not there (Debian: libopenmpi-dev openmpi-bin)")
    with tempfile.TemporaryDirectory() as folder:
        refusals(flc, folder)
        explained(flc, folder)
        expected, types, bits = expectations(flc, folder), None, []
        for option, start in kinds:
            executable = os.path.join(folder, "blocks")
            quickly_built(flc, option, executable)
            command = [executable] + options_for(executable)
            # Processes find what the threads have compiled, but for their devices near by: these have the other tests.
            far = ["env", "POCL_DEVICES=pthread"] if start == mpirun else []
            types = types or types_of(start, command)
            compare(flc, folder, chosen(expected, start), start, far + command, types)
            in_order(flc, folder, start, option, far, bits)
            divided(flc, folder, start, option, far)
            failures(flc, folder, start, command)
            serve(flc, folder, start, command)
            struck(flc, folder, start, command)
            if start == mpirun:
                strangers(command)
                killed(folder, command)
                library(flc, folder)
                partly(flc, folder)
                measured(flc, folder)
            if start == threads:
                team(flc, folder)
                mixed(flc, folder)
                faults(flc, folder, command)
                no_weights(command)
                priced(flc, folder)
    print(f"{passed} passed, {failed} failed")
    sys.exit(failed > 0)


main()
