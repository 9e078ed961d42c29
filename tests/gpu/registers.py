#!/usr/bin/env python3
"""What the kernels of the code for GPUs take of an NVIDIA GPU: registers.py FLC [--update | --quiet].

NVRTC compiles the kernels below for sm_90, ptxas counts registers, its output has the instructions, and registers.txt
has what was counted: a tenth more registers or instructions, or more bytes spilled, is a failure (--update writes the
file anew).  What is compiled and by what has a digest there, too, and is not compiled again where that is the same: to compile all
takes minutes.  64-bit divisions show as instructions: each is a routine of 60 to 80.  Kernels are told apart by program, kind
and place among those of their kind.  Exit status 77 (skipped) where NVRTC or ptxas are missing.
"""
import ctypes
import hashlib
import os
import re
import shutil
import struct
import subprocess
import sys
import tempfile

from generated import Program
from nvrtc import COMMON, compiled, library

HERE = os.path.dirname(os.path.realpath(__file__))
STORED = os.path.join(HERE, "registers.txt")
ROOT = os.path.dirname(os.path.dirname(HERE))
PROGRAMS = ["tests/gpu/kernels.fl", "benchmarks/matmul.fl", "benchmarks/locvolcalib.fl", "tests/gpu/halves.fl"]
SLACK = 0.1
# Kernels that only move elements or combine what groups left are alike: the first few of each kind stand for all.
MOVES = {"turn_rows", "turn_matrices", "transpose", "copy", "segscan_clear", "segred_combine", "segscan_combine", "seghist_combine"}
FEW = 4
EVERY = 4  # of the others each fourth one
COUNTS = re.compile(r"Compiling entry function 'flc_kernel_(\d+)'.*?(\d+) bytes stack frame, (\d+) bytes spill stores, "
                    r"(\d+) bytes spill loads.*?Used (\d+) registers", re.S)


def find_ptxas():
    """Its path, or None."""
    return shutil.which("ptxas") or shutil.which(os.path.join(os.environ.get("CUDA_PATH", "/usr/local/cuda"), "bin/ptxas"))


def instructions(path):
    """How many of 16 bytes each kernel has, by its number: the sections .text.flc_kernel_<number> of an ELF file."""
    with open(path, "rb") as file:
        image = file.read()
    table, size, count, names = struct.unpack_from("<40xQ10xHHH", image)
    sections = [struct.unpack_from("<I20xQQ", image, table + i * size) for i in range(count)]
    found = {}
    for name, _, length in sections:
        text = image[sections[names][1] + name:].split(b"\0", 1)[0].decode()
        if text.startswith(".text.flc_kernel_"):
            found[int(text.rsplit("_", 1)[1])] = length // 16
    return found


def versions(nvrtc, ptxas):
    """Of what compiles, as a text."""
    major, minor = ctypes.c_int(), ctypes.c_int()
    nvrtc.nvrtcVersion(ctypes.byref(major), ctypes.byref(minor))
    said = subprocess.run([ptxas, "--version"], text=True, capture_output=True, check=True).stdout
    return f"{major.value}.{minor.value} {said}"


def digest(compilers, program, kernel):
    """Of all that the counts of a kernel follow from."""
    words = [compilers, program.words, *COMMON, *kernel.options(), kernel.text]
    return hashlib.sha256("\0".join(words).encode()).hexdigest()[:16]


def counted(nvrtc, ptxas, program, kernels):
    """Registers, bytes of stack, bytes spilled and instructions of each kernel, by its number."""
    ptx, said = compiled(nvrtc, program.source(kernels), COMMON + kernels[0].options(), "PTX")
    if ptx is None:
        sys.exit(f"kernels do not compile:\n{said}")
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "kernels.ptx")
        with open(path, "wb") as out:
            out.write(ptx.rstrip(b"\0"))
        out = os.path.join(folder, "out")
        done = subprocess.run([ptxas, "-v", "-arch=sm_90", path, "-o", out], text=True,
                              stderr=subprocess.STDOUT, stdout=subprocess.PIPE, check=False)
        if done.returncode:
            sys.exit(done.stdout)
        sizes = instructions(out)
    return {int(number): (int(registers), int(stack), int(stores) + int(loads), sizes[int(number)])
            for number, stack, stores, loads, registers in COUNTS.findall(done.stdout)}


def looked_at(program):
    """Kind, place and kernel of those that are counted."""
    places, rows = {}, []
    for kernel in program.kernels:
        kind = re.sub(r"_\d+$", "", kernel.name)
        places[kind] = places.get(kind, 0) + 1
        if places[kind] <= FEW or (kind not in MOVES and places[kind] % EVERY == 0):
            rows.append((kind, places[kind], kernel))
    return rows


def rows_of(nvrtc, ptxas, flc, path, known):
    """Rows of the table: name -> registers, stack, spilled, instructions, digest; those with a digest that is known are not compiled."""
    program, compilers = Program(flc, os.path.join(ROOT, path)), versions(nvrtc, ptxas)
    looked, alike, counts = looked_at(program), {}, dict(known)
    digests = {(kernel.text, *kernel.options()): digest(compilers, program, kernel) for _, _, kernel in looked}
    for kernel in program.distinct():
        found = digests.get((kernel.text, *kernel.options()))
        if found and found not in counts:
            alike.setdefault(tuple(kernel.options()), []).append(kernel)
    # Whatever their batches: to begin a program takes longer than most kernels do.
    for kernels in alike.values():
        found = counted(nvrtc, ptxas, program, kernels)
        counts.update({digests[(kernel.text, *kernel.options())]: found[number] for number, kernel in enumerate(kernels)})
    rows = {}
    for kind, place, kernel in looked:
        found = digests[(kernel.text, *kernel.options())]
        rows[f"{os.path.basename(path)} {kind} {place}"] = (*counts[found], found)
    return rows


def stored():
    """The rows of registers.txt."""
    rows = {}
    with open(STORED, encoding="utf-8") as lines:
        for line in lines:
            words = line.split()
            if words and words[0] != "#":
                rows[" ".join(words[:3])] = (*(int(word) for word in words[3:7]), words[7])
    return rows


def write(rows):
    """registers.txt."""
    with open(STORED, "w", encoding="utf-8") as out:
        out.write("# Made by registers.py --update: kernels of the code for GPUs on sm_90 (groups of 256 where a size is compiled in).\n"
                  "# program             kernel                place  registers  stack bytes  spilled bytes  instructions  digest\n")
        for name, counts in rows.items():
            program, kind, place = name.split()
            out.write(f"{program:21} {kind:22} {place:>4} {counts[0]:10} {counts[1]:12} {counts[2]:14} {counts[3]:13}  {counts[4]}\n")


def problems(rows):
    """What is worse than stored, as lines."""
    found, known = [], stored()
    for name in sorted(known.keys() ^ rows.keys()):
        found.append(f"{name}: {'not in' if name in rows else 'only in'} registers.txt")
    for name in known.keys() & rows.keys():
        (registers, _, spilled, length, _), (had, _, spilled_before, length_before, _) = rows[name], known[name]
        if registers > had * (1 + SLACK) or spilled > spilled_before or length > length_before * (1 + SLACK):
            found.append(f"{name}: {registers} registers, {spilled} bytes spilled, {length} instructions; "
                         f"before {had}, {spilled_before} and {length_before}")
    return found


def main():
    """Counts and compares."""
    flc = os.path.realpath(sys.argv[1])
    nvrtc, ptxas = library(), find_ptxas()
    if not nvrtc or not ptxas:
        print("skipped: there is no " + ("ptxas" if nvrtc else "NVRTC (libnvrtc.so)"))
        return 77
    known = {} if "--update" in sys.argv else {row[4]: row[:4] for row in stored().values()}
    rows = {name: counts for path in PROGRAMS for name, counts in rows_of(nvrtc, ptxas, flc, path, known).items()}
    if "--update" in sys.argv:
        write(rows)
        return 0
    found = problems(rows)
    print("\n".join(found + (["for what is meant to be: registers.py FLC --update"] if found else [])))
    if "--quiet" not in sys.argv:
        for name, counts in rows.items():
            print(f"{name}: {counts[0]} registers, {counts[1]} bytes of stack, {counts[2]} spilled, {counts[3]} instructions")
    return bool(found)


if __name__ == "__main__":
    sys.exit(main())
