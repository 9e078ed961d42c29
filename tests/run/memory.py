#!/usr/bin/env python3
"""The peak of device memory against inputs + outputs + unavoidable intermediates: memory.py FLC BENCHMARKS.

At most 1.3 times as much (docs/performance.md has the table).  Exit status 77 (skipped) without a device.
"""
import json
import os
import subprocess
import sys
import tempfile

MOST = 1.3

# program, code, path, generated inputs or their text, bytes that cannot be avoided; f32 and i32 have 4
ROWS = [
    # inputs, output
    ("matmul", "cpu", "", ["[200][300]f32", "[300][400]f32"], 4 * (200 * 300 + 300 * 400 + 200 * 400)),
    ("matmul", "gpu", "", ["[200][300]f32", "[300][400]f32"], 4 * (200 * 300 + 300 * 400 + 200 * 400)),
    # input; output; the row before it
    ("pathfinder", "cpu", "", ["[2][300][400]i32"], 4 * (2 * 300 * 400 + 2 * 400 + 2 * 400)),
    ("pathfinder", "gpu", "", ["[2][300][400]i32"], 4 * (2 * 300 * 400 + 2 * 400 + 2 * 400)),
    # input (u8); image, diffusion and next image, whose memory the output has later
    ("srad", "gpu", "main.top_0=F,main.intra_1=F", ["[2][300][400]u8"], (1 + 3 * 4) * 2 * 300 * 400),
    # an image at a time in each work-item: the output is apart
    ("srad", "cpu", "main.top_0=T", ["[2][300][400]u8"], (1 + 4 * 4) * 2 * 300 * 400),
    # values, explicit step, first implicit step (later: second one), each of every strike; grids.  Groups read
    # columns from a transposed copy, and make a result for the next one to read transposed.
    ("locvolcalib", "gpu", "main.top_0=F,main.intra_1=F", "16 32 64 4 0.03f32 5f32 0.2f32 0.6f32 0.5f32",
     4 * (5 * 16 * 32 * 64 + 10 * (32 + 64))),
    # within a work-item both implicit steps, transposed, and the rows of one system besides
    ("locvolcalib", "cpu", "main.top_0=T", "16 32 64 4 0.03f32 5f32 0.2f32 0.6f32 0.5f32",
     4 * (4 * 16 * 32 * 64 + 10 * (32 + 64))),
]


def main():
    flc, benchmarks = os.path.realpath(sys.argv[1]), sys.argv[2]
    failures = 0
    with tempfile.TemporaryDirectory() as folder:
        os.environ["XDG_CACHE_HOME"] = folder
        built = {}
        for name, code, path, inputs, least in ROWS:
            if name not in built:
                built[name] = os.path.join(folder, name)
                subprocess.run([flc, "build", os.path.join(benchmarks, name + ".fl"), "-o", built[name]], check=True)
            if isinstance(inputs, str):
                data = inputs.encode()
            else:
                words = [word for kind in inputs for word in ("-g", kind)]
                data = subprocess.check_output([flc, "data", "-b", *words])
            done = subprocess.run([built[name], "--code", code, "--path", path, "-n", "-P", "--json"], input=data,
                                  stderr=subprocess.PIPE, check=False)
            if b"no OpenCL" in done.stderr:
                sys.exit(77)
            peak = json.loads(done.stderr)["bytes"]["peak"]
            print(f"{name:12} {code} {least:10} {peak:10} {peak / least:5.2f}")
            failures += peak > MOST * least
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()
