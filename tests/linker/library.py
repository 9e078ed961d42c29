#!/usr/bin/env python3
"""Makes PoCL with a smaller library of built-in functions: library.py FOLDER; prints what OCL_ICD_VENDORS shall be.

PoCL reads its library of 23,000 functions anew in each process, which takes most of the time of a small program.  The
folder gets PoCL's files, as links, beside a library of what runtime/kernels/builtins.cl declares, and what that needs.  A
kernel that calls anything else fails to link.  Prints nothing where PoCL is not as it is known here.
"""
import ctypes
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

BUILTINS = Path(__file__).resolve().parents[2] / "runtime/kernels/builtins.cl"
VENDORS = Path("/etc/OpenCL/vendors")
KINDS = ("avx2", "avx512")  # for processors with these; others read the whole
# A declaration: its name, and the type of its first parameter, by which functions of one name are told apart.
DECLARATION = re.compile(r"\(\(overloadable[^()]*\)\) (\w+)\((?:(?:const|volatile|__global|__local|__private) )*(\w+?)(2|4|8|16)? (\*?)")
CODES = {"char": "c", "uchar": "h", "short": "s", "ushort": "t", "int": "i", "uint": "j", "long": "l", "ulong": "m", "size_t": "m", "cl_mem_fence_flags": "j",
         "float": "f", "double": "d"}
# What PoCL itself needs has names as in C; so have functions that others of the library call.
HELPER = re.compile(r"Sleef_|[a-z0-9]+_u1|[a-z]")
EXTERNAL, INTERNAL = 0, 8


def loaded(name):
    """The file of a library of this process."""
    with open("/proc/self/maps", encoding="utf-8") as lines:
        paths = [line.split()[-1] for line in lines if f"/{name}" in line]
    return Path(paths[0])


def declared():
    """What kernels are compiled with: names, each with how that of the first parameter's type is written (Itanium's ABI)."""
    options = ["-E", "-P", "-x", "c", "-Dcl_khr_fp64", "-Dcl_khr_int64_base_atomics"]
    text = subprocess.run(["cc", *options, str(BUILTINS)], stdin=subprocess.DEVNULL, capture_output=True, text=True, check=True).stdout
    return {(name, "P" if pointer else (f"Dv{count}_" if count else "") + CODES[kind]) for name, kind, count, pointer in DECLARATION.findall(text)}


def is_needed(name, known):
    """Whether kernels or PoCL itself may call it."""
    mangled = re.match(r"_Z(\d+)(\w+)$", name)
    if not mangled:
        return not HELPER.match(name) or name == "printf"
    length = int(mangled[1])
    base, types = mangled[2][:length].removeprefix("_cl_"), mangled[2][length:]
    first = re.match(r"(Dv\d+_)?.", types)[0]
    return (base, first) in known


class Library:
    """A module of LLVM's, by its interface for C."""

    def __init__(self, llvm, path):
        self.llvm, self.module = llvm, ctypes.c_void_p()
        llvm.LLVMGetValueName2.restype = ctypes.c_char_p
        for name in ("LLVMContextCreate", "LLVMGetFirstFunction", "LLVMGetNextFunction", "LLVMCreatePassBuilderOptions", "LLVMRunPasses"):
            getattr(llvm, name).restype = ctypes.c_void_p
        bytes_of, message = ctypes.c_void_p(), ctypes.c_char_p()
        context = ctypes.c_void_p(llvm.LLVMContextCreate())
        if llvm.LLVMCreateMemoryBufferWithContentsOfFile(str(path).encode(), ctypes.byref(bytes_of), ctypes.byref(message)) or \
                llvm.LLVMParseBitcodeInContext2(context, bytes_of, ctypes.byref(self.module)):
            raise OSError(f"cannot read {path}")

    def functions(self):
        """Those with a name that others see."""
        at, length = self.llvm.LLVMGetFirstFunction(self.module), ctypes.c_size_t()
        while at:
            function = ctypes.c_void_p(at)
            if self.llvm.LLVMCountBasicBlocks(function):
                yield at, self.llvm.LLVMGetValueName2(function, ctypes.byref(length)).decode(), self.llvm.LLVMGetLinkage(function)
            at = self.llvm.LLVMGetNextFunction(function)

    def link_as(self, function, linkage):
        """Who sees its name."""
        self.llvm.LLVMSetLinkage(ctypes.c_void_p(function), linkage)

    def keep(self, known):
        """What is needed, directly or not, with the names that it had."""
        hidden = [at for at, name, linkage in self.functions() if linkage == EXTERNAL and not is_needed(name, known)]
        for function in hidden:
            self.link_as(function, INTERNAL)
        if self.llvm.LLVMRunPasses(self.module, b"globaldce", None, ctypes.c_void_p(self.llvm.LLVMCreatePassBuilderOptions())):
            raise OSError("functions cannot be removed")
        left = {at for at, _, _ in self.functions()}
        for function in left.intersection(hidden):
            self.link_as(function, EXTERNAL)

    def write(self, path):
        """Into a file."""
        if self.llvm.LLVMWriteBitcodeToFile(self.module, str(path).encode()):
            raise OSError(f"cannot write {path}")


def links(folder, targets):
    """Files of the folder that lead to others of the same names."""
    folder.mkdir(parents=True)
    for target in targets:
        (folder / target.name).symlink_to(target)


def make(folder, pocl):
    """The folder, laid out as PoCL expects it: lib/x/libpocl.so, lib/x/pocl, share/pocl."""
    share = pocl.parents[2] / "share/pocl"
    flags = Path("/proc/cpuinfo").read_text(encoding="utf-8")
    known = declared()
    made = [path for path in share.iterdir() if path.suffix == ".bc" and any(path.stem.endswith("-" + kind) and kind in flags for kind in KINDS)]
    links(folder / "lib/x", [pocl, pocl.parent / "pocl"])
    links(folder / "share/pocl", [path for path in share.iterdir() if path not in made])
    llvm = ctypes.CDLL(str(loaded("libLLVM")))
    for path in made:
        library = Library(llvm, path)
        library.keep(known)
        library.write(folder / "share/pocl" / path.name)
    (folder / "vendors").mkdir()
    for path in VENDORS.glob("*.icd"):
        text = path.read_text(encoding="utf-8")
        (folder / "vendors" / path.name).write_text(f"{folder}/lib/x/{pocl.name}\n" if "libpocl" in text else text, encoding="utf-8")


def main():
    folder = Path(sys.argv[1]).resolve()
    names = [text for text in (path.read_text(encoding="utf-8").strip() for path in VENDORS.glob("*.icd")) if "libpocl" in text]
    if "OCL_ICD_VENDORS" in os.environ or len(names) != 1:
        return
    shutil.rmtree(folder, ignore_errors=True)
    try:
        ctypes.CDLL(names[0])
        make(folder, loaded("libpocl.so").resolve())
    except (OSError, AttributeError, IndexError, subprocess.SubprocessError) as problem:
        print(f"PoCL reads its whole library: {problem}", file=sys.stderr)
        return
    print(folder / "vendors")


if __name__ == "__main__":
    main()
