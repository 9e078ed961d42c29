#!/usr/bin/env python3
"""Does the compiler of AMD's OpenCL, which is clang, take the kernels of the code for GPUs?  amd.py FLC FILE.fl..

For a device with wavefronts of 64 items and for one of 32, of every version; and whether items of a wavefront
ask each other there without memory.  Exit status 77 (skipped) where there is no clang for such devices.
"""
import subprocess
import sys

from generated import Program

DEVICES = [("gfx90a", 64), ("gfx1030", 32)]
COMMAND = ["clang", "-x", "cl", "-cl-std=CL1.2", "-target", "amdgcn-amd-amdhsa", "-nogpulib", "-S", "-O1", "-w",
           "-Xclang", "-finclude-default-header", "-o", "-", "-", "-DFLC_CONTRACT", "-DFLC_HALF", "-DFLC_SUB_AMD"]


def compiled(text, options):
    """The code that the compiler makes, or None, and what it says."""
    done = subprocess.run([*COMMAND, *options], input=text, capture_output=True, text=True, check=False)
    return (None if done.returncode else done.stdout), done.stderr


def exists():
    """Whether there is such a compiler."""
    try:
        return compiled("__kernel void f(__global int *x) { x[get_local_id(0)] = 1; }", ["-mcpu=gfx90a"])[0] is not None
    except OSError:
        return False


def options_of(kernel, device, wavefront):
    """As runtime/build.h makes them."""
    steps = f"-DFLC_SUB_STEPS={wavefront.bit_length() - 1}"
    return [f"-mcpu={device}"] + [steps if o.startswith("-DFLC_SUB_STEPS") else o for o in kernel.options()]


def check(flc, path, device, wavefront):
    """The number of kernels, of those that are refused, and of those whose items ask each other."""
    program = Program(flc, path)
    kernels, refused, asking = program.distinct(), 0, 0
    for kernel in kernels:
        code, said = compiled(program.source([kernel], program.opencl), options_of(kernel, device, wavefront))
        if code is None:
            refused += 1
            print(f"{path}: kernel {kernel.name} for {device}: refused\n{said[:2000]}")
        elif "flc_shuffle_" in kernel.text and "ds_bpermute_b32" not in code:
            refused += 1
            print(f"{path}: kernel {kernel.name} for {device}: its items do not ask each other")
        elif "flc_shuffle_" in kernel.text:
            asking += 1
    return len(kernels), refused, asking


def main():
    """Checks the programs named."""
    if not exists():
        print("skipped: there is no clang for AMD's devices")
        return 77
    failed = False
    for device, wavefront in DEVICES:
        found = [check(sys.argv[1], path, device, wavefront) for path in sys.argv[2:]]
        kernels, refused, asking = map(sum, zip(*found))
        print(f"{device}: {kernels} kernels, {refused} refused, {asking} with sub-groups")
        failed = failed or refused > 0 or asking == 0
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
