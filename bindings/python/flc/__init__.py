"""Fl from Python: compile a program, call its entry points with numpy arrays.

    import flc
    module = flc.source("entry main [n] (xs: [n]f32) : f32 = f32.sum xs")
    module.main([1, 2, 3])   # 6.0

`help(module.main)` shows the types of an entry point.  Compiled programs are kept in a cache.
"""
import atexit as _atexit
import os as _os
import shutil as _shutil
import tempfile as _tempfile
import warnings as _warnings
from pathlib import Path as _Path

from .device import DeviceArray, Opaque, OpaqueArray
from .errors import CompileError, CompileWarning, DeviceError, Error, OutOfMemory, ProgramError
from .magic import load_ipython_extension
from .module import Module, Profile, load as _load

__all__ = ["compile", "source", "Module", "Profile", "DeviceArray", "Opaque", "OpaqueArray", "Error", "CompileError",
           "CompileWarning", "ProgramError", "DeviceError", "OutOfMemory", "load_ipython_extension"]
__version__ = "0.1.0"

_FLATTEN = ("incremental", "moderate", "full", "outer")


def _settings(device, platform, code):
    given = {"set_device": device, "set_platform": platform, "set_code": code}
    return [(name, value.encode()) for name, value in given.items() if value]


def _compiled(path, imports, *, device=None, platform=None, code=None, tuning=None, flatten=None):
    """The module and what the compiler warns of; options as compile's."""
    path = _Path(path)
    if flatten is not None and flatten not in _FLATTEN:
        raise ValueError(f"flatten: expected one of {', '.join(_FLATTEN)}, found {flatten}")
    if code not in (None, "cpu", "gpu"):
        raise ValueError(f"code: expected cpu or gpu, found {code}")
    try:
        text = path.read_text(encoding="utf-8", errors="replace")
    except OSError as error:
        hint = "\nhint: flc.source compiles a text" if " = " in str(path) else ""
        raise CompileError(f"cannot read {path}: {error.strerror}{hint}") from error
    options = ["--flatten", flatten] if flatten else []
    module, warned = _load(str(path.resolve()), text, _settings(device, platform, code), options, imports)
    if tuning is not None:
        module.set_tuning(tuning)
    return module, warned


def _from_text(text, name, beside=None, **options):
    """As _compiled, of a program that is given as text; `beside`: texts by name that it may import, as it may import
    what is in the current folder."""
    if not name or "/" in name or "\0" in name:
        raise ValueError(f"name: expected the name of a file without its ending, found {name!r}")
    folder = _Path(_tempfile.mkdtemp(prefix="flc-"))
    _atexit.register(_shutil.rmtree, folder, ignore_errors=True)  # tree and tune read it again
    for one, its_text in {**(beside or {}), name: text}.items():
        (folder / f"{one}.fl").write_text(its_text, encoding="utf-8")
    return _compiled(folder / f"{name}.fl", _os.getcwd(), **options)


def _warn(warned):
    if warned:
        _warnings.warn(warned, CompileWarning, stacklevel=3)


def compile(path, *, device=None, platform=None, code=None, tuning=None, flatten=None) -> Module:
    """Compiles a program, or takes it from the cache.

    device, platform: a part of the name of the OpenCL device or platform; code: "cpu" or "gpu", whatever the device;
    tuning: parameters, or the file that `flc tune` has written (without it that beside the program, if there is one);
    flatten: "incremental" (the default), "moderate", "full", "outer".
    """
    module, warned = _compiled(path, None, device=device, platform=platform, code=code, tuning=tuning, flatten=flatten)
    _warn(warned)
    return module


def source(text, name="source", *, device=None, platform=None, code=None, tuning=None, flatten=None) -> Module:
    """Compiles a program that is given as text; `name` is what messages call it.  Its imports are relative to the
    current folder.  Options as compile's."""
    module, warned = _from_text(text, name, device=device, platform=platform, code=code, tuning=tuning, flatten=flatten)
    _warn(warned)
    return module
