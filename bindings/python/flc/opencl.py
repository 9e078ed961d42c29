"""OpenCL where the system has none: the headers and the loader that came with this package, and as a device PoCL from
PyPI (`pip install 'flc[cpu]'`).  What the system has comes first."""
import contextlib
import ctypes
import glob
import importlib.util
import os
import stat
import tempfile
from pathlib import Path

from .errors import Error

HERE = Path(__file__).resolve().parent
HEADERS, LIBRARIES = HERE / "include", HERE / "lib"
LOADER = "libOpenCL.so.1"
# Where loaders look for devices (ocl-icd, Khronos).
VARIABLES = ("OCL_ICD_VENDORS", "OCL_ICD_FILENAMES")


def packaged_device():
    """The library of PoCL's wheel, or None."""
    found = importlib.util.find_spec("pocl_binary_distribution")
    if not found or not found.origin:
        return None
    beside = Path(found.origin).parents[1] / "pyopencl" / ".libs"
    return next(iter(sorted(map(str, beside.glob("libpocl*.so")))), None)


def advice():
    """What someone without a device can do about it, as a line for a message."""
    if any(os.environ.get(name) for name in VARIABLES) or packaged_device():
        return ""
    return "\nhint: `pip install pocl-binary-distribution` brings one that runs on the processor, too"


def find_device():
    """Tells the loader of PoCL's wheel, if nobody has told it of another device.  Before the loader is first asked."""
    if any(os.environ.get(name) for name in VARIABLES) or glob.glob("/etc/OpenCL/vendors/*.icd"):
        return
    device = packaged_device()
    if device:
        for name in VARIABLES:
            os.environ[name] = device


def leave_full_disk():
    """As executables do (runtime/cli.h): PoCL's cache is among the temporary files where its disk has next to no room."""
    base = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    if os.environ.get("POCL_CACHE_DIR") or not os.path.isdir(base):
        return
    disk = os.statvfs(base)
    if disk.f_bavail * disk.f_frsize >= 4 << 20:
        return
    folder = os.path.join(tempfile.gettempdir(), f"flc-pocl-{os.geteuid()}")
    with contextlib.suppress(FileExistsError):
        os.mkdir(folder, 0o700)
    info = os.lstat(folder)
    if stat.S_ISDIR(info.st_mode) and info.st_uid == os.geteuid() and not info.st_mode & 0o022:
        os.environ["POCL_CACHE_DIR"] = folder


def load():
    """Loads the loader for all libraries that are loaded later: their calls of OpenCL go there."""
    find_device()
    leave_full_disk()
    for name in (LOADER, LIBRARIES / LOADER):
        try:
            return ctypes.CDLL(str(name), mode=ctypes.RTLD_GLOBAL)
        except OSError:
            pass
    raise Error("there is no OpenCL loader (Debian: ocl-icd-libopencl1)")


def c_options():
    """For the C compiler: the package's headers, behind the system's."""
    return ["-idirafter", str(HEADERS)] if HEADERS.is_dir() else []


def environment():
    """For flc, which runs the C compiler and what that makes: the package's folders behind the others."""
    out = dict(os.environ)
    if LIBRARIES.is_dir():
        folders = {"C_INCLUDE_PATH": HEADERS, "LIBRARY_PATH": LIBRARIES, "LD_LIBRARY_PATH": LIBRARIES}
        for name, folder in folders.items():
            out[name] = ":".join(filter(None, [out.get(name), str(folder)]))
    return out
