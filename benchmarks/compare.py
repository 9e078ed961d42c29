#!/usr/bin/env python3
"""Generated programs against hand-written C, as ratios measured side by side.

Each row alternates runs of the generated program (its server process, inputs already on the device) and
of the reference, and compares the fastest run of each: load on the machine hits both.  Kernels by
themselves are compared by kernels.py.

usage: compare.py FLC BUILD_FOLDER [ROW...]
"""
import os
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
ROUNDS = 2

# name: program, input, reference command
ROWS = {
    "LocVolCalib small": ("locvolcalib", "LocVolCalib/small.in", ["locvolcalib", "1", 16, 32, 256, 256]),
    "LocVolCalib medium": ("locvolcalib", "LocVolCalib/medium.in", ["locvolcalib", "1", 128, 256, 32, 64]),
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

    def restore(self, path):
        """The arguments of `main`, on the device."""
        kinds = [line.split()[0].lstrip("*") for line in self.do("inputs main")]
        names = [f"in{i}" for i in range(len(kinds))]
        self.do(f"restore {path} " + " ".join(f"{name} {kind}" for name, kind in zip(names, kinds)))
        return " ".join(names)

    def call(self, inputs):
        lines = self.do(f"call main out {inputs}")
        self.do("free out")
        return int([line.split()[1] for line in lines if line.startswith("runtime:")][0])


def build(flc, folder, name):
    out = os.path.join(folder, name)
    subprocess.run([flc, "build", os.path.join(HERE, name + ".fl"), "-o", out], check=True)
    return out


def build_reference(folder, name):
    out = os.path.join(folder, "ref_" + name)
    subprocess.run(["cc", "-O3", "-march=native", "-fopenmp", os.path.join(HERE, "reference", name + ".c"), "-o", out, "-lm"],
                   check=True)
    return out


def reference_time(command):
    out = subprocess.run([str(word) for word in command], capture_output=True, text=True, check=True)
    return min(int(line) for line in out.stdout.split() if line.isdigit())


def measure(flc, folder, row):
    program, data, reference = row
    path = os.path.join(os.environ.get("FLC_DATA", os.path.join(HERE, "../../shared/data")), data)
    if not os.path.exists(path):
        return "data not here: " + data
    ref = build_reference(folder, reference[0])
    server = Server(build(flc, folder, program))
    names = server.restore(path)
    server.call(names)
    ours, theirs = [], []
    for _ in range(ROUNDS):
        theirs.append(reference_time([ref] + reference[1:]))
        ours.append(server.call(names))
    server.process.stdin.close()
    return (f"{min(ours) / 1e3:10.2f} ms  reference {min(theirs) / 1e3:10.2f} ms  "
            f"ratio {min(theirs) / min(ours):5.2f}")


def cost_of_a_call(flc, folder):
    base = os.path.join(folder, "call_lib")
    subprocess.run([flc, "lib", os.path.join(HERE, "call.fl"), "-o", base, "--prefix", "call"], check=True)
    program = os.path.join(folder, "call")
    subprocess.run(["cc", "-O2", "-I", folder, os.path.join(HERE, "reference", "call.c"), base + ".c", "-o", program,
                    "-lOpenCL", "-lm"], check=True)
    call, bare = (float(word) for word in subprocess.check_output([program], text=True).split())
    return f"{call:10.2f} us  empty     {bare:10.2f} us  ratio {call / bare:5.2f}  (wanted: below 3)"


def main():
    flc, folder = sys.argv[1], sys.argv[2]
    os.makedirs(folder, exist_ok=True)
    for name in sys.argv[3:] or [*ROWS, CALL]:
        result = cost_of_a_call(flc, folder) if name == CALL else measure(flc, folder, ROWS[name])
        print(f"{name:26} {result}", flush=True)


if __name__ == "__main__":
    main()
