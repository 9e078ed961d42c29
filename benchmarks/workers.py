#!/usr/bin/env python3
"""Times programs with one and with several processes of one core each: workers.py FLC [RANKS] [NAME...].

Options (--reproducible) are for flc build.
The best of the runs, inputs read before.  What is gathered is what each process has received.  The last columns are what C with
OpenMP (reference/threads.c) gains of as many threads, on the same machine right after."""
import os
import re
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
RUNS = "7"

OPTIONS = os.path.join(HERE, "data", "option_pricing", "tiny-models2.in")

# name, source, entry, inputs: sizes, values, or a function that gives these
ROWS = [
    ("saxpy", "workers.fl", "saxpy", ["2f32", "[20000000]f32", "[20000000]f32"]),
    ("saxpy, rows", "workers.fl", "saxpy_rows", ["2f32", "[20000000]f32", "[20000000]f32"]),
    ("dot product", "workers.fl", "dot", ["[20000000]f32", "[20000000]f32"]),
    ("sum of functions", "workers.fl", "math", ["[5000000]f64"]),
    ("filter", "workers.fl", "kept", ["[5000000]f64"]),
    ("matrix product", "workers.fl", "matmul", ["[1024][1024]f32", "[1024][1024]f32"]),
    ("matrix product, rows", "workers.fl", "matmul_rows", ["[1024][1024]f32", "[1024][1024]f32"]),
    ("bodies", "workers.fl", "bodies", ["10i64"] + ["[10000]f32"] * 4),
    ("Jacobi", "workers.fl", "jacobi", ["20i64", "[2000][2000]f32"]),
    ("Jacobi, rows", "workers.fl", "jacobi_rows", ["20i64", "[2000][2000]f32"]),
    ("power iteration", "workers.fl", "power", ["20i64", "[3000][3000]f64", "[3000]f64"]),
    ("k-means", "workers.fl", "kmeans", ["16i64", "10i64", "[400000][8]f32"]),
    ("logistic gradient", "workers_everyday.fl", "logistic", ["[100000][10]f32", "[100000]f32", "5i64"]),
    ("PageRank", "workers_everyday.fl", "pagerank", ["--i64-bounds=0:99999", "[100000][10]i64", "[100000]i64", "5i64"]),
    ("equalised image", "workers_everyday.fl", "equalise", ["[1000][1000]u8"]),
    ("product of three", "workers_everyday.fl", "chain", ["[256][256]f32"] * 3),
    ("softmax of rows", "workers_everyday.fl", "softmax", ["[2000][1000]f32"]),
    ("prefix sums", "workers_everyday.fl", "prefixes", ["[1000000]f64"]),
    ("radix sort", "workers_everyday.fl", "radix", ["[1000000]u32"]),
    ("standardised", "workers_everyday.fl", "standardised", ["[100000][10]f32"]),
    ("convolution", "workers_everyday.fl", "convolved", ["[1000][1000]f32"]),
    ("pixels", "workers_everyday.fl", "edges", ["[1000][1000]f32"]),
    ("elimination", "workers_everyday.fl", "elimination", ["[300][301]f64"]),
    ("filter both ways", "workers_everyday.fl", "both_ways", ["[1000][800]f32"]),
    ("filter in turn", "workers_everyday.fl", "in_turn", ["[1000][1000]f32", "5i64"]),
    ("LocVolCalib", "locvolcalib.fl", "main", "256 256 64 32 0.03f32 5f32 0.2f32 0.6f32 0.5f32"),
    ("option pricing", "option_pricing.fl", "main", lambda: more_paths(OPTIONS, 500000)),
]


# The loops of threads.c that do what a row does.
IN_C = {"saxpy": "saxpy", "saxpy, rows": "saxpy", "dot product": "dot", "sum of functions": "math", "matrix product": "matmul",
        "matrix product, rows": "matmul", "bodies": "bodies", "Jacobi": "jacobi", "Jacobi, rows": "jacobi", "power iteration": "power", "k-means": "kmeans"}


def in_c(executable, name, threads):
    """Milliseconds of the best run."""
    environment = dict(os.environ, OMP_NUM_THREADS=str(threads), OMP_PROC_BIND="true")
    done = subprocess.run([executable, IN_C[name], RUNS], env=environment, capture_output=True, text=True, check=True)
    return float(done.stdout)


def more_paths(path, paths):
    """The values of a file, of which the second is how many paths there are."""
    with open(path, encoding="utf-8") as file:
        contract, _, rest = file.read().split(None, 2)
    return f"{contract} {paths}i32 {rest}"


def inputs_of(flc, given):
    if callable(given):
        given = given()
    if isinstance(given, str):
        return given.encode()
    words = [word for kind in given for word in ([kind] if kind.startswith("-") else ["-g", kind])]
    return subprocess.check_output([flc, "data", "-b", "-s", "1"] + words)


def run(executable, entry, ranks, data, folder):
    """Milliseconds, and bytes gathered in one run, of rank 0."""
    times = os.path.join(folder, "times")
    command = ["mpirun", "--bind-to", "core", "-n", str(ranks), executable, "-e", entry, "-n", "-t", times, "-r", RUNS, "-L"]
    done = subprocess.run(command, input=data, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, check=False)
    said = done.stderr.decode()
    if done.returncode:
        sys.exit(said)
    with open(times, encoding="utf-8") as file:
        best = min(int(line) for line in file) / 1000
    found = re.search(r"worker 0 of \d+: (\d+) gathers, \d+ bytes sent, (\d+) received", said)
    calls = 1 + int(RUNS)
    return best, int(found[1]) // calls, int(found[2]) // calls


def main():
    words = [word for word in sys.argv[1:] if not word.startswith("--")]
    options = [word for word in sys.argv[1:] if word.startswith("--")]
    flc = os.path.realpath(words[0])
    ranks = int(words[1]) if len(words) > 1 else 2
    wanted = words[2:]
    os.environ.update({"POCL_MAX_PTHREAD_COUNT": "1", "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"})
    print(f"{'':20} {'1 process':>12} {ranks:>2} processes {'ratio':>6} {'gathers':>8} {'bytes received':>15} {'C, 1 thread':>12} {'ratio':>6}")
    with tempfile.TemporaryDirectory() as folder:
        threads = os.path.join(folder, "threads")
        source = os.path.join(HERE, "reference", "threads.c")
        subprocess.run(["cc", "-O3", "-march=native", "-ffast-math", "-fopenmp", source, "-o", threads, "-lm"], check=True)
        for name, source, entry, given in ROWS:
            if wanted and name not in wanted:
                continue
            executable = os.path.join(folder, source + ".out")
            if not os.path.exists(executable):
                subprocess.run([flc, "build", "--mpi", *options, os.path.join(HERE, source), "-o", executable], check=True)
            data = inputs_of(flc, given)
            one, _, _ = run(executable, entry, 1, data, folder)
            several, gathers, received = run(executable, entry, ranks, data, folder)
            line = f"{name:20} {one:9.1f} ms {several:9.1f} ms {one / several:6.2f} {gathers:8} {received:15}"
            if name in IN_C:
                alone, together = in_c(threads, name, 1), in_c(threads, name, ranks)
                line += f" {alone:9.1f} ms {alone / together:6.2f}"
            print(line, flush=True)


if __name__ == "__main__":
    main()
