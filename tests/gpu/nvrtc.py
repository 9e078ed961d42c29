#!/usr/bin/env python3
"""Does CUDA's compiler take the kernels of the code for GPUs?  nvrtc.py FLC FILE.fl.. [--fallback]

All of them, of every version, are compiled by NVRTC for sm_90, which needs no GPU; with --fallback also with local
arrays in global memory.  Exit status 77 (skipped) where there is no NVRTC.
"""
import ctypes
import glob
import os
import sys

from generated import Program

COMMON = ["--gpu-architecture=sm_90", "-default-device", "-w", "-DFLC_CONTRACT", "--fmad=true", "--prec-div=false",
          "--prec-sqrt=false"]


def library():
    """NVRTC, or None."""
    toolkit = os.path.join(os.environ.get("CUDA_PATH", "/usr/local/cuda"), "lib64", "libnvrtc.so*")
    for name in ["libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so", *sorted(glob.glob(toolkit))]:
        try:
            return ctypes.CDLL(name)
        except OSError:
            continue
    return None


def text_of(nvrtc, program, size, get):
    """A text or an image that the library has of the program."""
    count = ctypes.c_size_t()
    getattr(nvrtc, size)(program, ctypes.byref(count))
    buffer = ctypes.create_string_buffer(max(count.value, 1))
    getattr(nvrtc, get)(program, buffer)
    return buffer.raw[:count.value]


def compiled(nvrtc, source, options, image="CUBIN"):
    """The image, and what the compiler says; the image is None if it refuses the text."""
    program = ctypes.c_void_p()
    if nvrtc.nvrtcCreateProgram(ctypes.byref(program), source.encode(), b"kernels.cu", 0, None, None):
        return None, "no program"
    words = (ctypes.c_char_p * len(options))(*(o.encode() for o in options))
    status = nvrtc.nvrtcCompileProgram(program, len(options), words)
    said = text_of(nvrtc, program, "nvrtcGetProgramLogSize", "nvrtcGetProgramLog").rstrip(b"\0").decode()
    got = None if status else text_of(nvrtc, program, f"nvrtcGet{image}Size", f"nvrtcGet{image}")
    nvrtc.nvrtcDestroyProgram(ctypes.byref(program))
    return got, said


def together(kernels):
    """Lists of kernels with the same options, of one batch each."""
    lists = {}
    for kernel in kernels:
        lists.setdefault((kernel.batch, tuple(kernel.options())), []).append(kernel)
    return lists.values()


def refused(nvrtc, program, kernels, extra):
    """Names of kernels that do not compile, with the reason: alone if it is not all of them."""
    options = COMMON + kernels[0].options() + extra
    got, said = compiled(nvrtc, program.source(kernels), options)
    if got is not None:
        return []
    if len(kernels) == 1:
        return [(kernels[0].name, said)]
    return [r for kernel in kernels for r in refused(nvrtc, program, [kernel], extra)]


def check(nvrtc, flc, path, fallback):
    """The number of kernels of a program; those that are refused are shown.  None: flc itself refuses it."""
    program = Program(flc, path)
    if program.problem:
        return None
    problems = []
    distinct = program.distinct()
    for kernels in together(distinct):
        problems += refused(nvrtc, program, kernels, [])
        local = [k for k in kernels if k.has_local()]
        if fallback and local:
            problems += refused(nvrtc, program, local, ["-DFLC_LOCAL_FALLBACK"])
    for name, said in problems:
        print(f"{path}: kernel {name}: refused\n{said[:2000]}")
    return len(distinct), len(problems)


def main():
    """Checks the programs named."""
    flc, *paths = [a for a in sys.argv[1:] if a != "--fallback"]
    nvrtc = library()
    if not nvrtc:
        print("skipped: there is no NVRTC (libnvrtc.so)")
        return 77
    found = [check(nvrtc, flc, path, "--fallback" in sys.argv) for path in paths]
    known = [counts for counts in found if counts]
    print(f"{sum(c for c, _ in known)} kernels of {len(known)} programs, {sum(r for _, r in known)} refused; "
          f"{len(found) - len(known)} programs that flc does not build")
    return any(r for _, r in known) or not known


if __name__ == "__main__":
    sys.exit(main())
