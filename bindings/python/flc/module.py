"""A compiled program: its entry points as methods, and what one wants to know about it."""
import ctypes
import inspect
import keyword
import operator
import re
import shutil
import tempfile
import warnings
from pathlib import Path

import numpy as np

from . import build, opencl
from .arguments import argument, host_parts, moved, new_array, to_arguments
from .device import DeviceArray, restore
from .errors import Error
from .library import POINTER, Library
from .results import from_library
from .stored import binary_value

NUMPY_TYPES = {"bool": "bool", "f16": "float16", "f32": "float32", "f64": "float64"}


class FlType(str):
    """A type of the language, as an annotation that prints without quotes."""

    __repr__ = str.__str__


# ---- entry points


def comment_above(text, name):
    """The comment lines directly above an entry point, up to a test block."""
    lines = text.splitlines()
    head = re.compile(r"entry\s+(#\[[^\]]*\]\s*)*" + re.escape(name) + r"(?![\w'])")
    at = next((i for i, line in enumerate(lines) if head.match(line)), 0)
    comment = []
    while at > 0 and (lines[at - 1].startswith("--") or lines[at - 1].startswith("#[")):
        at -= 1
        if lines[at].startswith("--"):
            comment.insert(0, re.sub(r"^--( \|)? ?", "", lines[at]))
    tests = comment.index("==") if "==" in comment else len(comment)
    return "\n".join(comment[:tests]).strip()


def describe(entry, comment):
    """The docstring of an entry point."""
    lines = [comment, ""] if comment else []
    for one in entry["inputs"]:
        note = ", used up by the call" if one["unique"] else ""
        lines.append(f"{one['name'] or '_'}: {one['type']}{note}")
    lines.append(f"Returns {entry['output']['type']}.")
    lines.append("Arrays of the result are numpy arrays, or, with on_device=True, stay on the device.")
    return "\n".join(lines)


def parameter_names(entry):
    """Names that Python allows, each once."""
    names = []
    for i, one in enumerate(entry["inputs"]):
        name = re.sub(r"\W", "_", one["name"] or f"arg{i}")
        taken = (*names, "self", "on_device")
        usable = name.isidentifier() and not keyword.iskeyword(name) and name not in taken
        names.append(name if usable else f"{name}_{i}" if f"{name}_{i}".isidentifier() else f"arg{i}")
    return names


def signature_of(entry):
    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    parameters = [inspect.Parameter("self", kind)]
    for name, one in zip(parameter_names(entry), entry["inputs"]):
        annotation = FlType(("*" if one["unique"] else "") + one["type"])
        parameters.append(inspect.Parameter(name, kind, annotation=annotation))
    parameters.append(inspect.Parameter("on_device", inspect.Parameter.KEYWORD_ONLY, default=False, annotation=bool))
    return inspect.Signature(parameters, return_annotation=FlType(entry["output"]["type"]))


def run_entry(library, name, arguments, on_device):
    """Runs the entry point on values of Python."""
    entry = library.entries[name]
    inputs = entry["inputs"]
    made = to_arguments(library, inputs, arguments)
    types = [library.c_type(one["type"]) for one in inputs]
    result_type = entry["output"]["type"]
    out = library.c_type(result_type)()
    function = library.function(entry["cfun"], ctypes.c_int, POINTER, POINTER, *types)
    with library.lock:
        library.free_discarded()
        library.check(function(library.context, ctypes.byref(out), *map(argument, made)))
        result = from_library(library, result_type, out.value, on_device)
        if not on_device:
            library.sync()  # so that failed checks are this call's, also where nothing was read
    return result


def bound(name, signature, module, arguments, named):
    """The arguments in order; a TypeError that shows how the entry point is called, if they are too few or too many."""
    try:
        return list(signature.bind(module, *arguments, **named).arguments.values())[1:]
    except TypeError as error:
        shown = signature.replace(parameters=list(signature.parameters.values())[1:])
        raise TypeError(f"{error}: {name}{shown}") from None


def entry_method(name, entry, comment):
    signature = signature_of(entry)
    count = len(entry["inputs"])

    def method(self, *arguments, on_device=False, **named):
        if named or len(arguments) != count:
            arguments = bound(name, signature, self, arguments, named)
        return run_entry(self._library, name, arguments, on_device)

    method.__name__ = method.__qualname__ = name
    method.__doc__ = describe(entry, comment)
    method.__signature__ = signature
    return method


# ---- the module


class Module:
    """A compiled program.  Its entry points are methods: `module.main(a, b)`."""

    def __init__(self, path, imports, options, settings, library):
        self._path, self._imports, self._options, self._settings = path, imports, options, settings
        self._library = library
        self._tuning = {}

    def __getattr__(self, name):  # what is not found elsewhere
        if name.startswith("_"):
            raise AttributeError(name)
        known = ", ".join(self._library.entries) or "none (`def` makes functions, `entry` what can be called)"
        raise AttributeError(f"the program has no entry point {name}; it has {known}")

    @property
    def entries(self):
        """The entry points by name, for those whose name is that of a method."""
        return {name: getattr(self, "_entry_" + name) for name in self._library.entries}

    @property
    def device(self):
        """The device that runs the program: its name, driver and sizes."""
        return self._library.report()["device"]

    def tree(self, entry=None):
        """The versions of the program, the guards that choose between them and their thresholds, drawn as text."""
        options = ["-e", entry] if entry else []
        return build.run_flc("tree", self._path, [*options, *self._options], self._imports)[0]

    def to_device(self, array, type=None):
        """Puts an array on the device, where it stays.  `type`: as "[]f32"; without it by the array's own."""
        if type is None:
            array = np.asarray(array)
        name = type or "[]" * array.ndim + element_type(array.dtype)
        self._check_array_type(name)
        return new_array(self._library, "array", name, array)

    def _check_array_type(self, type):
        types = self._library.types
        if types.get(type, {}).get("kind") != "array":
            known = [name for name, kind in types.items() if kind["kind"] == "array"]
            raise TypeError(f"the program has no arrays of type {type}, but {', '.join(known) or 'none'}")

    def from_cl_mem(self, pointer, type, shape):
        """An array around a buffer of OpenCL (an integer: PyOpenCL's int_ptr), which the array retains."""
        library = self._library
        self._check_array_type(type)
        kind = library.types[type]
        pointer, shape = operator.index(pointer), tuple(map(operator.index, shape))
        if len(shape) != kind["rank"]:
            raise ValueError(f"shape: expected {kind['rank']} sizes for {type}, found {len(shape)}")
        make = library.function(kind["ops"]["new_raw"], POINTER, POINTER, POINTER,
                                *[ctypes.c_int64] * kind["rank"])
        with library.lock:
            return DeviceArray(library, type, library.checked(make(library.context, pointer, *shape)))

    @property
    def command_queue(self):
        """The command queue as an integer, for PyOpenCL's CommandQueue.from_int_ptr; it stays the module's."""
        with self._library.lock:
            return self._library.context_function("get_command_queue", POINTER)(self._library.context)

    def restore(self, type, data):
        """The value that `bytes(value)` has stored."""
        return restore(self._library, type, data)

    # ---- settings

    @property
    def params(self):
        """The names of the tuning parameters."""
        return sorted({name for entry in self._library.entries.values() for name in entry["tuning_params"]})

    @property
    def tuning(self):
        """The tuning parameters that have been set."""
        return dict(self._tuning)

    def set_tuning(self, tuning):
        """Sets tuning parameters, from a mapping or a file of `name=value` lines.  Of a file, which may be for another
        version of the program, names that the program does not have are passed over, with a warning."""
        is_file = not hasattr(tuning, "items")
        for name, value in (read_tuning(tuning) if is_file else tuning).items():
            if self._library.set_param(name, int(value)):
                self._tuning[name] = int(value)
            elif is_file and name.partition("@")[0] not in self.params:
                warnings.warn(f"{tuning}: the program has no parameter {name}", stacklevel=2)
            else:
                raise Error(f"{name}={value}: the program has no such parameter, or it takes no such value")

    def _entry_name(self, entry):
        """The name itself, or that of `main`, or of the only entry point."""
        known = list(self._library.entries)
        if entry in known:
            return entry
        if entry is None and ("main" in known or len(known) == 1):
            return "main" if "main" in known else known[0]
        what = "there is no entry point main" if entry is None else f"there is no entry point {entry}"
        raise Error(f"{what}; the program has {', '.join(known) or 'none'}: choose with entry=")

    def tune(self, train, entry=None, budget=None):
        """Measures the versions of an entry point (by default `main`, or the only one) on lists of arguments, sets the
        parameters to what was fastest, and returns them.  `budget`: seconds for all measurements.  Arguments on which the
        program fails are left out, with a warning."""
        entry = self._entry_name(entry)
        train = list(train)
        for arguments in train:
            if not isinstance(arguments, (tuple, list)):
                raise TypeError("train: expected a list that has a tuple of arguments for each run, found "
                                f"{type(arguments).__name__} in it")
        if not train:
            raise ValueError("train: expected a tuple of arguments for at least one run, found none")
        if budget is not None and not budget > 0:
            raise ValueError(f"budget: expected seconds, found {budget}")
        with tempfile.TemporaryDirectory(prefix="flc-") as folder:
            options = ["--entry", entry, "--output", f"{folder}/tuning", "--quiet", "--no-log", *self._device_options()]
            if budget:
                options += ["--budget", budget]
            for i, arguments in enumerate(train):
                path = Path(folder) / f"set{i}"
                path.write_bytes(self._data(entry, arguments))
                options += ["--data", path]
            # 2: some arguments were left out, as the program fails on them.
            _, said = build.run_flc("tune", self._path, options, self._imports, fine=(0, 2))
            if said:
                warnings.warn(said.removeprefix("warning: "), stacklevel=2)
            found = read_tuning(Path(folder) / "tuning")
        # Which recipe a kernel has is compiled in, unless there are several in the source.
        self.set_tuning({name: value for name, value in found.items()
                         if name in self.params or not name.endswith(".recipe")})
        return self.tuning

    def _device_options(self):
        device = dict(self._settings).get("set_device")
        return ["--device", device.decode()] if device else []

    def _inputs(self, entry, arguments):
        """The parameters of the entry point, as many as there are arguments."""
        inputs = self._library.entries[entry]["inputs"]
        if len(arguments) != len(inputs):
            raise TypeError(f"{entry}: expected {len(inputs)} arguments, found {len(arguments)}")
        return inputs

    def _data(self, entry, arguments):
        """The arguments as a data file."""
        inputs = self._inputs(entry, arguments)
        out = []
        for one, made in zip(inputs, to_arguments(self._library, inputs, arguments)):
            out += host_parts(made, one["type"])
        return b"\n".join(map(binary_value, out))

    # ---- measuring

    def profile(self, *arguments, entry=None, runs=1):
        """Runs an entry point (by default `main`, or the only one) in a context of its own that measures, and returns a
        Profile."""
        entry = self._entry_name(entry)
        if runs < 1:
            raise ValueError(f"runs: expected at least 1, found {runs}")
        inputs = self._inputs(entry, arguments)
        library = Library(self._library.so, self._library.manifest, [*self._settings, ("set_profiling", 1)])
        for name, value in self._tuning.items():
            library.set_param(name, value)
        for _ in range(runs):
            given = [moved(library, one["type"], value) for one, value in zip(inputs, arguments)]
            run_entry(library, entry, given, False)
        return Profile(library.report())

    def profile_page(self, path, *arguments, entry=None, runs=10):
        """Runs an entry point as profile does, and writes a page of HTML about it: a timeline, a table of the kernels, the
        version that ran, the source with its times (`flc profile -o`)."""
        entry = self._entry_name(entry)
        options = {"set_device": "--device", "set_platform": "--platform", "set_code": "--code"}
        given = [word for name, value in self._settings if name in options for word in (options[name], value.decode())]
        given += [word for name, value in self._tuning.items() for word in ("--param", f"{name}={value}")]
        with tempfile.TemporaryDirectory(prefix="flc-") as folder:
            data = Path(folder) / "data"
            data.write_bytes(self._data(entry, arguments))
            wanted = ["--entry", entry, "--input", data, "--runs", runs, "--output", Path(path).absolute()]
            build.run_flc("profile", self._path, [*self._options, *wanted, "--", *given], self._imports)

    def __copy__(self):
        return self  # as functions are

    def __deepcopy__(self, memo):
        return self

    def __reduce__(self):
        raise TypeError("a module cannot be pickled: compile the program in each process, which takes it from the cache")

    def __repr__(self):
        return f"<{Path(self._path).name}: {', '.join(self._library.entries) or 'no entry points'}>"


class Profile:
    """What a run took: `kernels` and `builds` (name, count, microseconds), `guards`, `bytes`, `device`."""

    def __init__(self, report):
        self.report = report
        for name, part in report.items():
            setattr(self, name, part)

    def __repr__(self):
        lines = [f"{self.device['name']}: peak {self.bytes['peak']} bytes"]
        for kernel in sorted(self.kernels, key=lambda kernel: -kernel["total_us"]):
            mean = kernel["total_us"] / kernel["count"]
            lines.append(f"{kernel['name']:<40} {kernel['count']:>6} x {mean:>12.1f} us = {kernel['total_us']:>10} us")
        return "\n".join(lines)


def element_type(dtype):
    """The name of numpy's type in the language."""
    name = np.dtype(dtype).name
    back = {long: short for short, long in NUMPY_TYPES.items()}
    return back.get(name) or name.replace("uint", "u").replace("int", "i")


def read_tuning(path):
    """The settings in a file, by their names."""
    settings = {}
    for number, line in enumerate(Path(path).read_text(encoding="utf-8-sig").split("\n"), 1):
        name, _, value = line.partition("--")[0].partition("=")
        if not re.fullmatch(r"\s*[-+]?\d+\s*", value, re.A) and (name.strip() or value):
            raise Error(f"{path}:{number}: expected name=integer")
        if name.strip():
            settings[name.strip()] = int(value)
    return settings


def load(path, text, settings, options, imports):
    """The module of the program at the path, whose text is given for the comments in it; and what flc warns of."""
    so, manifest, warned, folder = build.build(path, options, imports)
    try:
        opencl.load()
        library = Library(ctypes.CDLL(str(so)), manifest, settings)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    members = {}
    for name, entry in library.entries.items():
        method = entry_method(name, entry, comment_above(text, name))
        members["_entry_" + name] = method
        if not hasattr(Module, name):
            members[name] = method
    kind = type(Path(path).stem, (Module,), {**members, "__doc__": f"The program {Path(path).name}."})
    return kind(path, imports, options, settings, library), warned
