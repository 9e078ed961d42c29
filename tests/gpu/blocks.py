#!/usr/bin/env python3
"""Blocks of points in the code for GPUs, against the interpreter: blocks.py FLC [SEED ROUNDS].

Runs each entry point of blocks.fl in the version with such kernels, on sizes around those of blocks, and one of them
in the interpreter of kernels.  All numbers are small integers, so that results are exact in any order.
"""
import os
import random
import re
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.realpath(__file__))
PROGRAM = os.path.join(HERE, "blocks.fl")
PARAMS = ["--param", "segmap_block_points=1", "--param", "segmap_shared_points=1"]
# As in `flc test`: what PoCL makes of kernels when it optimises them is no subject here, and takes most of the time.
QUICK = ["--build-option", "-DFLC_QUICK", "--build-option", "-cl-opt-disable"]

# entry -> (types of its arguments, guards that fail, the one that holds)
ENTRIES = {
    "layer": ("[n][m]f32 [m][p]f32 [p]f32 [n][p]f32", ["top_0", "intra_1"], "top_2"),
    "held": ("[n][m]f32 [m][p]f32 [n][p]f32 [n][p]f32", ["top_0", "intra_1"], "top_2"),
    "rows": ("[k][n][m]f64 [k][p][m]f64", ["top_0", "intra_1", "top_2", "intra_3"], "top_4"),
    "nearest": ("[n][m]i32 [p][m]i32", ["top_0", "intra_1"], "top_2"),
    "rows_summed": ("[p][m]i32 [p][n]u8", [], "top_0"),
    "rows_kept": ("[p][m]i32", [], "top_0"),
    "recurrence": ("[m][n]i32 [p][m]i32", ["top_0", "intra_1"], None),
    "closest": ("[q]i32 [q][m]i32 [p][m]i32", [], "top_0"),
    "weighed": ("[k][q][m]f64 [p][m]i8", [], "top_0"),
    "blurred": ("[p][q]i32", ["top_0", "intra_1"], None),
    "attracted": ("[q]i32 [q]i8 [m]i32 [m]f64", [], "top_0"),
    "layered": ("[k][p][q]i32 [k]i32", ["top_0", "intra_1"], "top_2"),
    "filters": ("[k][p][q]i32 [h][k]i32", ["top_0", "intra_1", "top_2", "intra_3"], "top_4"),
    "mixed": ("[n][m]i32 [m][h][p]i32", ["top_0", "intra_1", "top_2", "intra_3"], "top_4"),
    "padded": ("[k][p][q]i32 [k]i32", ["top_0", "intra_1"], "top_2"),
    "bordered": ("[p][q]i32", ["top_0", "intra_1"], None),
    "torus": ("[p][q]i32", ["top_0", "intra_1"], None),
    "windowed": ("[p][q]i32 [k][k]i32", [], "top_0"),
    "moving": ("[q]i32 [k]i32", [], "top_0"),
    "looked_up": ("[q][m]u8 [q]i32", [], None),
    "quantised": ("[n][m]u8 [h]i32 [m][p]i32", ["top_0", "intra_1"], "top_2"),
    "attended": ("[q][m]i32 [p][m]i32", [], "top_0"),
    "two_least": ("[q][m]i32 [p][m]i32", [], "top_0"),
    "three_least": ("[q][m]i32 [p][m]i32", [], "top_0"),
    "covaried": ("[q][m]i32 [q]i32", ["top_0", "intra_1", "top_2", "intra_3"], None),
    "weights": ("[q][m]i32 [q][p]i32 [m]i32", ["top_0", "intra_1"], "top_2"),
    "records": ("[q][2]i32 [p][5]i32", [], "top_0"),
    "farthest": ("[q][m]i32 [p][m]i32 [p]u8", [], "top_0"),
    "branched": ("[n][m]i32 [m][p]i32", ["top_0", "intra_1"], "top_2"),
    "tabled": ("[q]u8 [m]u8 [h]i32", [], None),
    "divided": ("[q][m]i32 [p][m]i32", [], "top_0"),
    "in_one": ("[q][m]i32", [], None),
    "searched": ("[k][q]i32 [m]i32 [m]i32", [], "top_0"),
}
USUAL = [{"k": 2, "n": 65, "m": 35, "p": 130, "q": 300, "h": 6},
         {"k": 1, "n": 3, "m": 16, "p": 64, "q": 1030, "h": 3}]
FEW = [1, 3, 4, 5, 8]
LONG = [1, 63, 64, 255, 256, 511, 512, 513, 700]
SIZES = [1, 2, 15, 16, 17, 31, 32, 33, 48, 63, 64, 65, 100, 129]


def path_of(entry):
    _, fails, holds = ENTRIES[entry]
    return ",".join([f"{entry}.{guard}=F" for guard in fails] + ([f"{entry}.{holds}=T"] if holds else []))


def value(dims, suffix):
    if not dims:
        return f"{random.randint(0 if suffix == 'u8' else -3, 3)}{suffix}"
    return "[" + ",".join(value(dims[1:], suffix) for _ in range(dims[0])) + "]"


def inputs_of(entry, sizes):
    words = []
    for text in ENTRIES[entry][0].split():
        dims = [sizes.get(name) or int(name) for name in re.findall(r"\[(\w)\]", text)]
        words.append(value(dims, text[text.rindex("]") + 1:]))
    return "\n".join(words).encode()


def output_of(command, data):
    done = subprocess.run(command, input=data, stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
    return done.stdout.decode().split() if done.returncode == 0 else done.stderr.decode()


def kernels_have_blocks(flc):
    """Whether each entry point has a kernel that shares what it reads; else the rest would test nothing."""
    text = subprocess.check_output([flc, "dump", "--recipes", "--code", "gpu", PROGRAM]).decode()
    missing = [entry for entry in ENTRIES if not re.search(rf"kernel {entry}\.\w+  --(.|\n)*?\n  (stage|bind) ", text)]
    for entry in missing:
        print(f"FAIL {entry}: no kernel of blocks")
    return not missing


def compare(what, got, expected):
    if got == expected:
        return 0
    print(f"FAIL {what}: {str(got)[:300]} instead of {str(expected)[:300]}")
    return 1


def main():
    flc = os.path.realpath(sys.argv[1])
    random.seed(int(sys.argv[2]) if len(sys.argv) > 2 else 1)
    rounds = int(sys.argv[3]) if len(sys.argv) > 3 else 0
    failures = 0 if kernels_have_blocks(flc) else 1
    with tempfile.TemporaryDirectory() as folder:
        os.environ["XDG_CACHE_HOME"] = folder
        program = os.path.join(folder, "blocks")
        subprocess.run([flc, "build", PROGRAM, "-o", program], check=True)
        for entry in ENTRIES:
            drawn = [{name: random.choice(SIZES) for name in "kmnp"} | {"q": random.choice(LONG), "h": random.choice(FEW)} for _ in range(rounds)]
            for sizes in USUAL + drawn:
                data = inputs_of(entry, sizes)
                expected = output_of([flc, "eval", "-e", entry, PROGRAM], data)
                got = output_of([program, "-e", entry, "--code", "gpu", "--path", path_of(entry), *PARAMS, *QUICK], data)
                failures += compare(f"{entry} {sizes}", got, expected)
        data = inputs_of("layer", {"n": 3, "m": 17, "p": 2})
        kernels = [flc, "eval", "--after", "kern", "--code", "gpu", "-e", "layer", "--path", path_of("layer"), PROGRAM]
        failures += compare("layer, interpreted", output_of(kernels, data), output_of([flc, "eval", "-e", "layer", PROGRAM], data))
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()
