#!/usr/bin/env python3
"""What the code for GPUs does, counted without one: counts.py FLC [--update | --quiet | --only PATTERN | --races].

Runs the entry points of kernels.fl under oclgrind with the plugin warps.cc and compares the counts of each kernel
with counts.txt: a tenth more than there is a failure (--update writes the file anew).  Exit status 77 (skipped)
where oclgrind, its headers or a C++ compiler are missing.  --races: shows races and wrong addresses instead.
OCLGRIND_ROOT says where Debian's packages of oclgrind are unpacked, if they are not installed.
"""
import fnmatch
import glob
import os
import re
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.realpath(__file__))
STORED = os.path.join(HERE, "counts.txt")
USR = os.environ.get("OCLGRIND_ROOT", "") + "/usr"
SHOWN = ("items", "issued", "requests", "sectors", "least", "local", "cycles", "barriers", "divisions", "atomics")
SLACK = 0.1

# entry, generated inputs, path, parameters
ROWS, WHOLE, BYTES = ["[8][1024]f32"], ["[32][1024]i32"], ["[16384]u8"]
BLOCKS, SHARED = "segmap_block_points=1", "segmap_shared_points=1"
CASES = [
    ("map_rows", ["[64][256]f32", "[256]f32"], "map_rows.top_0=F,map_rows.intra_1=F", ""),
    ("made_rows", ["64i64", "[256]f32"], "", ""),
    ("picked_rows", ["[256][64]f32", "[256]i64"], "", ""),
    ("normalise", ROWS, "normalise.top_0=F,normalise.intra_1=T", ""),
    ("normalise", ["[128][64]f32"], "normalise.top_0=F,normalise.intra_1=T", ""),
    ("rows_in_groups", ["[8][32][32]f32"], "rows_in_groups.top_0=F,rows_in_groups.intra_1=T", ""),
    ("normal_columns", ["[256][64]f32"], "normal_columns.top_0=F,normal_columns.intra_1=T", ""),
    ("divided_in_groups", ["[8][32][32]f32"], "divided_in_groups.top_0=F,divided_in_groups.intra_1=T", ""),
    ("row_prefix", ROWS, "row_prefix.top_0=F,row_prefix.intra_1=T", ""),
    ("row_prefix", ["[256][64]f32"], "row_prefix.top_0=T", ""),
    ("softmax", ["[256][40]f32"], "softmax.top_0=T", ""),
    ("softmax", ["[2048][8]f32"], "softmax.top_0=T", ""),
    ("row_largest", ["[4][1024]i32"], "row_largest.top_0=F,row_largest.intra_1=T", ""),
    ("sums_of_rows", ["[2048][16]f32"], "sums_of_rows.top_0=T", ""),
    ("sums_of_flat_rows", ["100i64", "[25600]f32"], "sums_of_flat_rows.top_0=T", ""),
    ("sums_of_rows", ["[2048][16]f32"], "sums_of_rows.top_0=F,sums_of_rows.intra_1=F", ""),
    ("sums_of_rows", ["[512][64]f32"], "sums_of_rows.top_0=F,sums_of_rows.intra_1=F", ""),
    ("looked_up", ["[512][40]u8", "[256]f32"], "looked_up.top_0=T", ""),
    ("sums_of_columns", ["[512][64]f32"], "sums_of_columns.top_0=F,sums_of_columns.intra_1=T", ""),
    ("scans_of_columns", ["[64][256]f32"], "scans_of_columns.top_0=T", ""),
    ("scans_of_columns", ["[64][256]f32"], "scans_of_columns.top_0=F,scans_of_columns.intra_1=F", ""),
    ("solve_rows", ["[256][64]f32"], "solve_rows.top_0=T", ""),
    ("positive", ["[32768]f32"], "", ""),
    ("few", ["[32768]f32"], "", ""),
    ("sums", WHOLE, "", ""),
    ("prefix", WHOLE, "", ""),
    ("largest_sum", WHOLE, "", ""),
    ("product", ["[128][64]f32", "[64][128]f32"], "product.top_0=F,product.intra_1=F,product.top_2=T", BLOCKS),
    ("product", ["[128][64]f32", "[64][128]f32"], "product.top_0=F,product.intra_1=F,product.top_2=T", ""),
    ("distances", ["[128][64]f32", "[128][64]f32"], "distances.top_0=F,distances.intra_1=F,distances.top_2=T", BLOCKS),
    ("count_i32", ["256i64"] + BYTES, "", ""),
    ("count_i64", ["256i64"] + BYTES, "", ""),
    ("count_f64", ["256i64"] + BYTES, "", ""),
    ("count_any", ["256i64"] + BYTES, "", ""),
    ("count_most", ["256i64"] + BYTES, "", ""),
    ("count_few", BYTES, "", ""),
    ("count_rows", ["[8][1024]u8"], "count_rows.top_0=F,count_rows.intra_1=T", ""),
    ("attraction", ["[512]f32", "[256]f32"], "attraction.top_0=T", SHARED),
    ("nearest", ["[256][8]f32", "[32][8]f32"], "nearest.top_0=T", SHARED),
    ("attention", ["[256][16]f32", "[64][16]f32"], "attention.top_0=T", SHARED),
    ("smoothed", ["[32][256]f32"], "smoothed.top_0=F,smoothed.intra_1=F", SHARED),
    ("heat", ["[8][16][128]f32"], "heat.top_0=F,heat.intra_1=F,heat.top_2=F,heat.intra_3=F", SHARED),
    ("warped", ["[128][20]f32", "[20]f32"], "", ""),
    ("three_nearest", ["[256][8]f32", "[32][8]f32"], "three_nearest.top_0=T", SHARED),
    ("centroid", ["[4096][3]f32"], "", ""),
    ("point_prefix", ["[4096][3]f32"], "", ""),
    ("recurrence", ["[4096][2]f32"], "", ""),
    ("kept_rows", ["[512][64]f32"], "", ""),
    ("filtered", ["[2][18][130]f32", "[4][2][3][3]f32"], "filtered.top_0=F,filtered.intra_1=F,filtered.top_2=F,filtered.intra_3=F,filtered.top_4=T", SHARED),
    ("filtered", ["[2][18][30]f32", "[4][2][3][3]f32"], "filtered.top_0=F,filtered.intra_1=F,filtered.top_2=F,filtered.intra_3=F,filtered.top_4=T", SHARED),
    ("padded", ["[32][128]f32", "[3][3]f32"], "padded.top_0=F,padded.intra_1=F,padded.top_2=T", SHARED),
    ("windowed", ["[36][132]f32", "[5][5]f32"], "windowed.top_0=F,windowed.intra_1=F,windowed.top_2=T", SHARED),
    ("moving", ["9i64", "[4104]f32"], "moving.top_0=T", SHARED),
    ("turned_points", ["[2048][3]f32"], "", ""),
    ("turned_matrices", ["[256][8][4]f32"], "", ""),
    ("channels", ["[16][4][8][16]f32"], "channels.top_0=F,channels.intra_1=T", ""),
    ("separable", ["[5]f32", "[8][8][128]f32"], "separable.top_0=F,separable.intra_1=F,separable.top_2=T,separable.top_6=T,separable.top_10=F,separable.intra_11=F,separable.top_12=T", SHARED),
    ("row_counts", ["16i64", "[1024]u8", "[1024][8]f32"], "", ""),
    ("planes", ["[16][128]f32"], "planes.top_0=F,planes.intra_1=F", ""),
    ("dequantised", ["[64][64]u8", "[256]f32", "[64][64]f32"], "dequantised.top_0=F,dequantised.intra_1=F,dequantised.top_2=T", BLOCKS),
    ("near", ["[512]f32", "[256]f32"], "near.top_0=T", SHARED),
    ("payoff", ["[512][64]f32"], "payoff.redomap_0=T", ""),
    ("sums_of_batches", ["[32][16][8]f32"], "sums_of_batches.top_0=F,sums_of_batches.intra_1=F,sums_of_batches.top_2=T", ""),
    ("sums_of_batches", ["[32][16][40]f32"], "sums_of_batches.top_0=F,sums_of_batches.intra_1=F,sums_of_batches.top_2=T", ""),
    ("rows_of_groups", ["[8][32]f32", "[8][96]f32"], "rows_of_groups.top_0=F,rows_of_groups.intra_1=T", ""),
    ("greatest_four", ["[256][64]f32"], "", ""),
    ("determinants", ["[2048][3][3]f32"], "", ""),
    ("smoothed_rows", ["[128][32]f32"], "smoothed_rows.top_0=T", ""),
    ("life", ["[64][256]u8"], "life.top_0=F,life.intra_1=F,life.top_2=T", SHARED),
    ("torus", ["[64][256]f32"], "torus.top_0=F,torus.intra_1=F", SHARED),
]


def build_plugin(folder):
    """The plugin's path, or None."""
    plugin = os.path.join(folder, "warps.so")
    headers = sorted(glob.glob("/usr/lib/llvm-*/include/llvm/IR"))
    if not headers or not os.path.exists(f"{USR}/include/oclgrind/Plugin.h"):
        return None
    include = os.path.dirname(os.path.dirname(headers[0]))
    command = ["c++", "-std=c++17", "-O2", "-fno-rtti", "-fPIC", "-shared", os.path.join(HERE, "warps.cc"), "-o", plugin,
               "-isystem", include]
    if USR != "/usr":
        command += ["-isystem", f"{USR}/include"]
    try:
        done = subprocess.run(command, stderr=subprocess.PIPE, check=False)
    except OSError:
        return None
    return None if done.returncode else plugin


def find_runtime():
    found = glob.glob(f"{USR}/lib/oclgrind/liboclgrind-rt.so") + glob.glob(f"{USR}/lib/*/oclgrind/liboclgrind-rt.so")
    return found[0] if found else None


def inputs_of(flc, inputs):
    words = [word for text in inputs for word in ("-g", text)]
    return subprocess.check_output([flc, "data", "-b", *words])


def measure(program, folder, plugin, data, case):
    """Kernel -> counts, summed over its launches."""
    entry, _, path, params = case
    counted, log = os.path.join(folder, "counted"), os.path.join(folder, "log")
    environment = dict(os.environ, OCLGRIND_NUM_THREADS="1", OCLGRIND_COMPUTE_UNITS="4", OCLGRIND_CHECK_API="0",
                       OCLGRIND_PLUGINS=plugin, OCLGRIND_LOG=log, WARPS_OUT=counted, LD_PRELOAD=find_runtime())
    if USR != "/usr":
        environment["LD_LIBRARY_PATH"] = glob.glob(f"{USR}/lib/*-linux-gnu")[0]
    command = [program, "-e", entry, "--code", "gpu", "-n", "-L", "--path", path]
    for param in params.split():
        command += ["--param", param]
    if "--races" in sys.argv:
        environment.update(OCLGRIND_DATA_RACES="1")
        command += ["--param", "segscan_look_back=0"]  # words and fences between groups are races to it
    done = subprocess.run(command, input=data, stderr=subprocess.PIPE, env=environment, check=True)
    if "--races" in sys.argv:
        with open(log) as file:
            complaints = file.read().strip()
        print(entry, path, complaints[:2000] or "fine")
    names = re.findall(r"launch (\w+?)(?:_\d+)?:", done.stderr.decode())
    with open(counted) as file:
        lines = [line.split() for line in file]
    if len(names) != len(lines):
        sys.exit(f"{entry}: {len(names)} launches, {len(lines)} counted")
    kernels = {}
    for name, words in zip(names, lines):
        sums = kernels.setdefault(name, dict.fromkeys(SHOWN, 0))
        for key, value in zip(words[::2], words[1::2]):
            if key in sums:
                sums[key] += int(value)
    return kernels


def label(case):
    entry, inputs, path, params = case
    choices = "".join(re.findall(r"=([TF])", path))
    return " ".join([entry, "x".join(inputs).replace(" ", ""), choices or "-"] + params.split())


def line_of(case, kernel, counts):
    return f"{label(case):48} {kernel:18} " + " ".join(f"{key} {counts[key]}" for key in SHOWN)


def differences(line, expected):
    """The counts of the line that are too much above those expected."""
    now, then = line.split(), expected.split()
    pairs = [(key, int(a), int(b)) for key, a, b in zip(now[-20::2], now[-19::2], then[-19::2])]
    return [f"{key} {b} -> {a}" for key, a, b in pairs if key != "items" and a > b * (1 + SLACK)]


def stored_lines():
    with open(STORED) as file:
        lines = [line.rstrip("\n") for line in file]
    return {tuple(line.split()[:-20]): line for line in lines}


def main():
    flc, update = os.path.realpath(sys.argv[1]), "--update" in sys.argv
    pattern = sys.argv[sys.argv.index("--only") + 1] if "--only" in sys.argv else "*"
    lines = []
    with tempfile.TemporaryDirectory() as folder:
        os.environ["XDG_CACHE_HOME"] = folder
        plugin = build_plugin(folder) if find_runtime() else None
        if not plugin:
            print("skipped: oclgrind, its headers or a C++ compiler are missing")
            sys.exit(77)
        program = os.path.join(folder, "kernels")
        subprocess.run([flc, "build", os.path.join(HERE, "kernels.fl"), "-o", program], check=True)
        for case in CASES:
            if not fnmatch.fnmatch(case[0], pattern):
                continue
            for kernel, counts in measure(program, folder, plugin, inputs_of(flc, case[1]), case).items():
                lines.append(line_of(case, kernel, counts))
                if "--quiet" not in sys.argv:
                    print(lines[-1])
    if "--races" in sys.argv:
        return
    if update:
        with open(STORED, "w") as file:
            file.write("".join(line + "\n" for line in lines))
        return
    stored, failures = stored_lines(), 0
    for line in lines:
        expected = stored.get(tuple(line.split()[:-20]))
        wrong = differences(line, expected) if expected else ["not in counts.txt"]
        for text in wrong:
            print(f"FAIL {' '.join(line.split()[:-20])}: {text}")
        failures += len(wrong)
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()
