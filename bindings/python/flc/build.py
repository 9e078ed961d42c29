"""From a program to a shared object: `flc lib`, the C compiler, and a cache of what it made."""
import hashlib
import json
import os
import shutil
import stat
import struct
import subprocess
import tempfile
import warnings
from pathlib import Path

from . import opencl
from .errors import CompileError, Error

# As `flc build` compiles; OpenCL is there before (opencl.load).
C_OPTIONS = ["-O1", "-std=c99", "-ffp-contract=off", "-shared", "-fPIC", "-Wl,-Bsymbolic"]
C_LIBRARIES = ["-lm"]


def compiler():
    """The path of flc: $FLC, the one that was installed with this package, that of a checkout, or one on the PATH."""
    here = Path(__file__).resolve().parent
    places = [os.environ.get("FLC"), here / "bin" / "flc", here.parents[2] / "build" / "flc", shutil.which("flc")]
    for place in places:
        if place and os.access(place, os.X_OK) and not os.path.isdir(place):
            return os.path.abspath(place)
    raise Error("there is no flc: install this package with pip, or set FLC to the path of the compiler")


def environment(imports):
    """For flc: `imports` is a folder for imports of what is not beside the program, or None."""
    out = opencl.environment()
    if imports:
        out["FLC_IMPORTS"] = ":".join(filter(None, [str(imports), out.get("FLC_IMPORTS")]))
    return out


def run_flc(command, path, options=(), imports=None, fine=(0,)):
    """What flc prints, and what it warns of; CompileError with what it says if its status is none of these.

    It runs beside the program, so that what it makes, and thereby the cache, does not depend on the folder.
    """
    path = Path(path)
    words = [compiler(), command, path.name, *map(str, options)]
    done = subprocess.run(words, capture_output=True, text=True, stdin=subprocess.DEVNULL, check=False,
                          errors="replace", cwd=path.parent, env=environment(imports))
    if done.returncode not in fine:
        raise CompileError(done.stderr.strip() or f"flc ended with status {done.returncode}")
    return done.stdout, done.stderr.strip()


# ---- the cache


def is_ours(folder):
    """May nobody else write to the folder?  What lies in it is loaded into this process."""
    try:
        info = os.lstat(folder)
    except OSError:
        return False
    return stat.S_ISDIR(info.st_mode) and info.st_uid == os.getuid() and not info.st_mode & 0o022


def cache_folder():
    """Where shared objects are kept, or None if there is no safe place."""
    base = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    folder = Path(base) / "flc" / "python"
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError:
        return None
    return folder if is_ours(folder) else None


def most_bytes():
    """How large the cache may grow."""
    text = os.environ.get("FLC_CACHE_MIB", "")
    return (int(text) if text.isdigit() else 512) << 20


def prune(folder):
    """Removes what has not been used for longest, until the rest is small enough."""
    files = []
    for path in folder.glob("*.so"):
        try:
            info = path.stat()
            files.append((info.st_mtime, info.st_size, path))
        except OSError:
            pass  # another process was faster
    excess = sum(size for _, size, _ in files) - most_bytes()
    for _, size, path in sorted(files)[:-1]:
        if excess <= 0:
            return
        path.unlink(missing_ok=True)
        excess -= size


# ---- compiling


def c_compiler():
    return (os.environ.get("CC") or "cc").split()


def run_cc(source, target):
    command = [*c_compiler(), *C_OPTIONS, *opencl.c_options(), "-o", str(target), str(source), *C_LIBRARIES]
    try:
        done = subprocess.run(command, capture_output=True, text=True, stdin=subprocess.DEVNULL, check=False,
                              errors="replace")
    except FileNotFoundError:
        raise Error(f"cannot run the C compiler {command[0]}: install one, or set CC to its name") from None
    if done.returncode != 0:
        hint = "\ninstall the OpenCL headers (Debian: opencl-c-headers)" if "CL/cl.h" in done.stderr else ""
        raise Error(f"the C compiler failed:\n{done.stderr.strip()}{hint}")


def is_whole(path):
    """Is all of the shared object there?  After a crash of the machine it may be empty, or end early."""
    if not path.is_file():
        return False
    with open(path, "rb") as file:
        head = file.read(64)
    if len(head) < 64 or head[:4] != b"\x7fELF":
        return False
    if head[4] != 2:  # of 32 bits
        return True
    order = "<" if head[5] == 1 else ">"
    (sections,), (each, count) = struct.unpack_from(order + "Q", head, 40), struct.unpack_from(order + "HH", head, 58)
    return sections + each * count <= path.stat().st_size


def keep_as(target, made):
    """Copies all of the file, or nothing."""
    handle, part = tempfile.mkstemp(prefix=".", suffix=".part", dir=target.parent)
    os.close(handle)
    try:
        shutil.copyfile(made, part)
        os.replace(part, target)
    except BaseException:
        os.unlink(part)
        raise


def shared_object(source, folder):
    """The path of the library made from the C file: from the cache, or compiled; `folder` takes what is not cached."""
    cache, made = cache_folder(), Path(folder) / "library.so"
    if not cache:
        run_cc(source, made)
        return made
    options = "\0".join([*c_compiler(), *C_OPTIONS, *C_LIBRARIES])
    target = cache / (hashlib.sha256(options.encode() + b"\0" + source.read_bytes()).hexdigest() + ".so")
    if is_whole(target):
        os.utime(target)
        return target
    run_cc(source, made)
    try:
        keep_as(target, made)
    except OSError as error:  # the disk may be full
        warnings.warn(f"the cache {cache} is not used: {error.strerror}", stacklevel=2)
        return made
    prune(cache)
    return target


def build(path, options=(), imports=None):
    """The shared object of a program, its manifest, what flc warns of, and the folder to be removed when the library is
    loaded."""
    folder = tempfile.mkdtemp(prefix="flc-")
    try:
        base = Path(folder) / "library"
        _, warned = run_flc("lib", path, ["-o", base, *options], imports)
        manifest = json.loads(base.with_suffix(".json").read_text(encoding="utf-8"))
        return shared_object(base.with_suffix(".c"), folder), manifest, warned, folder
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise
