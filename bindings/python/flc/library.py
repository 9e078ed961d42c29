"""A generated library by way of ctypes: its functions, with their types from the manifest, and one context.

ctypes releases the interpreter lock in each call, so other threads run meanwhile; a call and the reading of its error
belong together, so calls into one module wait for each other.
"""
import collections
import ctypes
import json
import os
import threading
import weakref

import numpy as np

from . import errors, opencl

SCALARS = {
    "i8": ctypes.c_int8, "i16": ctypes.c_int16, "i32": ctypes.c_int32, "i64": ctypes.c_int64,
    "u8": ctypes.c_uint8, "u16": ctypes.c_uint16, "u32": ctypes.c_uint32, "u64": ctypes.c_uint64,
    "f16": ctypes.c_uint16,  # its bits
    "f32": ctypes.c_float, "f64": ctypes.c_double, "bool": ctypes.c_bool,
}
DTYPES = {
    "i8": np.dtype(np.int8), "i16": np.dtype(np.int16), "i32": np.dtype(np.int32), "i64": np.dtype(np.int64),
    "u8": np.dtype(np.uint8), "u16": np.dtype(np.uint16), "u32": np.dtype(np.uint32), "u64": np.dtype(np.uint64),
    "f16": np.dtype(np.float16), "f32": np.dtype(np.float32), "f64": np.dtype(np.float64), "bool": np.dtype(np.bool_),
}
POINTER = ctypes.c_void_p
LIBC = ctypes.CDLL(None)
LIBC.free.argtypes, LIBC.free.restype = [POINTER], None


def take_text(pointer):
    """The text that the library allocated, which is freed; None for NULL."""
    if not pointer:
        return None
    text = ctypes.string_at(pointer).decode("utf-8", "replace")
    LIBC.free(pointer)
    return text


def refuse_forked():
    """OpenCL's threads are not there in a forked process, and would be waited for without end."""
    raise errors.DeviceError("OpenCL was at work in the process that this one was forked from, and cannot be used here: "
                             "start processes by multiprocessing's \"spawn\" or \"forkserver\"")


class Forked:
    """The lock of a library in a process that was forked from the one that opened it."""

    def __enter__(self):
        refuse_forked()

    def __exit__(self, *_):
        return False

    def acquire(self, blocking=True):
        return False


OPENED = weakref.WeakSet()
USED_IN = []  # the processes that have used OpenCL, this one or one that it was forked from


def leave_libraries():
    """After a fork, in the child: nothing is called any more, not even to free it."""
    for library in OPENED:
        library.lock, library.context, library.config = Forked(), None, None


os.register_at_fork(after_in_child=leave_libraries)


class Library:
    """A loaded library with a context on a device."""

    def __init__(self, so, manifest, settings):
        self.so, self.manifest = so, manifest
        self.types, self.entries = manifest["types"], manifest["entry_points"]
        self.lock = threading.RLock()
        self.live = {}  # what frees the values that Python holds, by pointer; as often as it holds one
        self.discarded = collections.deque()  # those of them that finalizers want to be freed
        self.context = self.config = None
        self.functions = {}
        self.open(settings)

    # ---- functions

    def function(self, name, result, *parameters):
        """The function of that name, as a ctypes object with its types."""
        found = self.functions.get(name)
        if not found:
            found = getattr(self.so, name)
            found.restype, found.argtypes = result, list(parameters)
            self.functions[name] = found
        return found

    def context_function(self, name, result, *parameters):
        return self.function("fl_context_" + name, result, POINTER, *parameters)

    def c_type(self, name):
        """What ctypes calls a value of the type of the manifest."""
        return POINTER if name in self.types else SCALARS[name]

    # ---- the context

    def open(self, settings):
        if USED_IN and USED_IN[0] != os.getpid():
            refuse_forked()
        USED_IN[:] = [os.getpid()]
        OPENED.add(self)
        self.config = self.function("fl_context_config_new", POINTER)()
        for setting, value in settings:
            kind = ctypes.c_char_p if isinstance(value, bytes) else ctypes.c_int
            self.function("fl_context_config_" + setting, ctypes.c_int, POINTER, kind)(self.config, value)
        self.context = self.function("fl_context_new", POINTER, POINTER)(self.config)
        if not self.context:
            raise errors.OutOfMemory("no memory for a context")
        text = self.error_text()
        if text:
            raise errors.DeviceError(text + (opencl.advice() if text.startswith("no OpenCL device") else ""))

    def __del__(self):
        """The collector may finalize the library before values that refer to it: they must be freed before the context."""
        if self.context:
            for pointer, frees in list(self.live.items()):
                for _ in list(frees):
                    self.free(pointer)
            self.function("fl_context_free", None, POINTER)(self.context)
            self.context = None
        if self.config:
            self.function("fl_context_config_free", None, POINTER)(self.config)
            self.config = None

    def error_text(self):
        return take_text(self.context_function("get_error", POINTER)(self.context))

    def check(self, status):
        if status != 0:
            raise errors.of_status(status, self.error_text() or f"status {status}")

    def checked(self, pointer):
        """A pointer that is NULL on errors."""
        if not pointer:
            text = self.error_text() or "no value"
            raise (errors.OutOfMemory if "memory" in text else errors.DeviceError)(text)
        return pointer

    def sync(self):
        with self.lock:
            self.check(self.context_function("sync", ctypes.c_int)(self.context))

    def report(self):
        with self.lock:
            return json.loads(take_text(self.context_function("report", POINTER)(self.context)))

    def set_param(self, name, value):
        """False if there is no such parameter."""
        set_param = self.context_function("set_tuning_param", ctypes.c_int, ctypes.c_char_p, ctypes.c_size_t)
        with self.lock:
            return set_param(self.context, name.encode(), value) == 0

    # ---- freeing

    def hold(self, type_name, pointer):
        self.live.setdefault(pointer, []).append(self.types[type_name]["ops"]["free"])

    def discard(self, pointer):
        """Frees the value now, or, where another thread is at work, with the next call."""
        if not self.context:
            return
        self.discarded.append(pointer)
        if self.lock.acquire(blocking=False):
            try:
                self.free_discarded()
            finally:
                self.lock.release()

    def free_discarded(self):
        while self.discarded:
            self.free(self.discarded.popleft())

    def free(self, pointer):
        frees = self.live[pointer]
        self.function(frees.pop(), ctypes.c_int, POINTER, POINTER)(self.context, pointer)
        if not frees:
            del self.live[pointer]
