"""Fl from Python: compile a program, call its entry points with numpy arrays.

    import flc
    module = flc.source("entry main [n] (xs: [n]f32) : f32 = f32.sum xs")
    module.main([1, 2, 3])   # 6.0

`help(module.main)` shows the types of an entry point.  Compiled programs are kept in a cache.
"""
import atexit as _atexit
import shutil as _shutil
import tempfile as _tempfile
from pathlib import Path as _Path

from .errors import CompileError, DeviceError, Error, OutOfMemory, ProgramError
from .magic import load_ipython_extension
from .module import Module, Profile, load as _load
from .values import DeviceArray, Opaque

__all__ = ["compile", "source", "Module", "Profile", "DeviceArray", "Opaque", "Error", "CompileError", "ProgramError",
           "DeviceError", "OutOfMemory", "load_ipython_extension"]
__version__ = "0.1.0"

_FLATTEN = ("incremental", "moderate", "full", "outer")


def _settings(device, platform, code):
    given = {"set_device": device, "set_platform": platform, "set_code": code}
    return [(name, value.encode()) for name, value in given.items() if value]


def compile(path, *, device=None, platform=None, code=None, tuning=None, flatten=None) -> Module:
    """Compiles a program, or takes it from the cache.

    device, platform: a part of the name of the OpenCL device or platform; code: "cpu" or "gpu", whatever the device;
    tuning: parameters, or the file that `flc tune` has written (without it that beside the program, if there is one);
    flatten: "incremental" (the default), "moderate", "full", "outer".
    """
    path = _Path(path)
    if flatten is not None and flatten not in _FLATTEN:
        raise ValueError(f"flatten: expected one of {', '.join(_FLATTEN)}, found {flatten}")
    if code not in (None, "cpu", "gpu"):
        raise ValueError(f"code: expected cpu or gpu, found {code}")
    try:
        text = path.read_text(encoding="utf-8", errors="replace")
    except OSError as error:
        raise CompileError(f"cannot read {path}: {error.strerror}") from error
    options = ["--flatten", flatten] if flatten else []
    module = _load(str(path.resolve()), text, _settings(device, platform, code), options)
    if tuning is not None:
        module.set_tuning(tuning)
    return module


def source(text, name="source", **options) -> Module:
    """Compiles a program that is given as text; `name` is what messages call it.  Options as compile's."""
    folder = _Path(_tempfile.mkdtemp(prefix="flc-"))
    _atexit.register(_shutil.rmtree, folder, ignore_errors=True)  # tree and tune read it again
    path = folder / f"{name}.fl"
    path.write_text(text, encoding="utf-8")
    return compile(path, **options)
