#!/usr/bin/env python3
"""Generated programs against hand-written C, as ratios measured side by side.

Each row alternates runs of the generated program (its server process, inputs already on the device) and
of the reference, and compares the fastest run of each: load on the machine hits both.

usage: compare.py FLC BUILD_FOLDER [ROW...]
"""
import os
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
ROUNDS = 5

# name: program, entry, inputs by (name, maker call or literal), reference command, bytes moved, target
ROWS = {
    "saxpy 2^26": ("micro", "saxpy", [("a", "2.0f32", "f32"), ("xs", "floats", [2**26]), ("ys", "floats", [2**26])],
                   ["micro", "saxpy", "3", 2**26], 12 * 2**26, 0.9),
    "f32 sum 2^26": ("micro", "sum", [("xs", "floats", [2**26])], ["micro", "sum", "3", 2**26], 4 * 2**26, 0.9),
    "i32 scan 2^25": ("micro", "prefix", [("is", "ints", [2**25])], ["micro", "prefix", "3", 2**25], 8 * 2**25, 0.9),
    "row sums 2^10 x 2^16": ("micro", "row_sums", [("m", "matrix", [2**10, 2**16])],
                             ["micro", "row_sums", "3", 2**10, 2**16], 4 * 2**26, 0.8),
    "row sums 2^16 x 2^10": ("micro", "row_sums", [("m", "matrix", [2**16, 2**10])],
                             ["micro", "row_sums", "3", 2**16, 2**10], 4 * 2**26, 0.8),
    "matmul 1024^3 (OpenMP)": ("matmul", "main", [("x", "matrix", [1024, 1024]), ("y", "matrix", [1024, 1024])],
                               ["matmul", "1", 1024], None, None),
    "matmul 1024^3 (OpenBLAS)": ("matmul", "main", [("x", "matrix", [1024, 1024]), ("y", "matrix", [1024, 1024])],
                                 ["matmul_blas", "1", 1024], None, None),
    "LocVolCalib small": ("locvolcalib", "main", "LocVolCalib/small.in", ["locvolcalib", "1", 16, 32, 256, 256], None, None),
    "LocVolCalib medium": ("locvolcalib", "main", "LocVolCalib/medium.in", ["locvolcalib", "1", 128, 256, 32, 64], None, None),
}

CALL = "a call of one kernel"


class Server:
    """A generated program as a server: conventions of the protocol are in docs/cli.md."""

    def __init__(self, path):
        self.process = subprocess.Popen([path, "--server"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.reply()

    def reply(self):
        lines = []
        for line in self.process.stdout:
            line = line.rstrip("\n")
            if line == "%%% OK":
                return lines
            lines.append(line)
        raise RuntimeError("the program ended: " + "\n".join(lines))

    def do(self, command):
        self.process.stdin.write(command + "\n")
        self.process.stdin.flush()
        lines = self.reply()
        if lines and lines[0].startswith("%%% FAILURE"):
            raise RuntimeError(command + ": " + "\n".join(lines[1:]))
        return lines

    def call(self, entry, inputs):
        lines = self.do(f"call {entry} out {inputs}")
        self.do("free out")
        return int([line.split()[1] for line in lines if line.startswith("runtime:")][0])


def restore_literal(server, folder, name, text, kind):
    path = os.path.join(folder, name + ".in")
    with open(path, "w", encoding="ascii") as file:
        file.write(text)
    server.do(f"restore {path} {name} {kind}")


def make_inputs(server, folder, inputs):
    for name, how, what in inputs:
        if isinstance(what, str):
            restore_literal(server, folder, name, how, what)
            continue
        sizes = []
        for i, size in enumerate(what):
            restore_literal(server, folder, f"size{i}", f"{size}i64", "i64")
            sizes.append(f"size{i}")
        server.do(f"call {how} {name} {' '.join(sizes)}")
        for size in sizes:
            server.do(f"free {size}")
    return " ".join(name for name, _, _ in inputs)


def restore_file(server, entry, path):
    names, kinds = [], []
    for line in server.do(f"inputs {entry}"):
        kinds.append(line.split()[0].lstrip("*"))
        names.append(f"in{len(names)}")
    server.do(f"restore {path} " + " ".join(f"{n} {k}" for n, k in zip(names, kinds)))
    return " ".join(names)


def build(flc, folder, name):
    out = os.path.join(folder, name)
    subprocess.run([flc, "build", os.path.join(HERE, name + ".fl"), "-o", out], check=True)
    return out


def build_reference(folder, name):
    out = os.path.join(folder, "ref_" + name)
    source, blas = name.replace("_blas", ""), name.endswith("_blas")
    command = ["cc", "-O3", "-march=native", "-fopenmp", os.path.join(HERE, "reference", source + ".c"), "-o", out, "-lm"]
    command += ["-DBLAS", "-lopenblas"] if blas else []
    done = subprocess.run(command, stderr=subprocess.DEVNULL, check=False)
    return out if done.returncode == 0 else None


def reference_time(command):
    env = dict(os.environ, OPENBLAS_CORETYPE=os.environ.get("OPENBLAS_CORETYPE", "SKYLAKEX"))
    out = subprocess.run([str(word) for word in command], capture_output=True, text=True, check=True, env=env)
    return min(int(line) for line in out.stdout.split() if line.isdigit())


def measure(flc, folder, row):
    program, entry, inputs, reference, moved, target = row
    ref = build_reference(folder, reference[0])
    if not ref:
        return "reference not built (libopenblas-dev?)"
    if isinstance(inputs, str):
        data = os.path.join(os.environ.get("FLC_DATA", os.path.join(HERE, "../../shared/data")), inputs)
        if not os.path.exists(data):
            return "data not here: " + inputs
    server = Server(build(flc, folder, program))
    if isinstance(inputs, str):
        names = restore_file(server, entry, data)
    elif program == "matmul":
        maker = Server(build(flc, folder, "micro"))
        made = make_inputs(maker, folder, inputs)
        for name in made.split():
            maker.do(f"store {folder}/{name}.in {name}")
            server.do(f"restore {folder}/{name}.in {name} [][]f32")
        names = made
    else:
        names = make_inputs(server, folder, inputs)
    ours, theirs = [], []
    server.call(entry, names)
    for _ in range(ROUNDS if moved else 2):
        theirs.append(reference_time([ref] + reference[1:]))
        ours += [server.call(entry, names) for _ in range(3 if moved else 1)]
    server.process.stdin.close()
    ratio = min(theirs) / min(ours)
    speed = f"{moved / min(ours) / 1e3:7.1f} GB/s" if moved else " " * 12
    wanted = f"  (wanted: {target})" if target else ""
    return f"{min(ours) / 1e3:10.2f} ms  reference {min(theirs) / 1e3:10.2f} ms  {speed}  ratio {ratio:5.2f}{wanted}"


def cost_of_a_call(flc, folder):
    base = os.path.join(folder, "micro_lib")
    subprocess.run([flc, "lib", os.path.join(HERE, "micro.fl"), "-o", base, "--prefix", "micro"], check=True)
    program = os.path.join(folder, "overhead")
    subprocess.run(["cc", "-O2", "-I", folder, os.path.join(HERE, "reference", "overhead.c"), base + ".c", "-o", program,
                    "-lOpenCL", "-lm"], check=True)
    call, bare = (float(word) for word in subprocess.check_output([program], text=True).split())
    return f"{call:10.2f} us  empty     {bare:10.2f} us  ratio {call / bare:5.2f}  (wanted: below 3)"


def main():
    flc, folder = sys.argv[1], sys.argv[2]
    os.makedirs(folder, exist_ok=True)
    for name in sys.argv[3:] or [*ROWS, CALL]:
        if name == CALL:
            print(f"{name:26} {cost_of_a_call(flc, folder)}", flush=True)
            continue
        print(f"{name:26} {measure(flc, folder, ROWS[name])}", flush=True)


if __name__ == "__main__":
    main()
