"""What lies on the device: arrays, and values that are neither numbers nor arrays."""
import ctypes
import operator

import numpy as np

from . import arguments, results
from .library import DTYPES, POINTER, take_text
from .stored import array_kind, check_stored, read_leaves


class Value:
    """Something that lies on the device; freed with the last reference to it."""

    def __init__(self, library, type_name, pointer):
        self._library, self._type, self._pointer = library, type_name, pointer
        library.hold(type_name, pointer)

    @property
    def type(self):
        """The type in the language, without sizes: "[][]f32", "point"."""
        return self._type

    def __del__(self):
        if getattr(self, "_pointer", None):
            self._library.discard(self._pointer)
            self._pointer = None

    def __copy__(self):
        """A value of its own: two that share a pointer would both free it."""
        return arguments.to_library(self._library, "value", self._type, arguments.moved(self._library, self._type, self))

    def __deepcopy__(self, memo):
        return self.__copy__()

    def __reduce__(self):
        raise TypeError("a value on the device cannot be pickled; what its .numpy() makes can")


class DeviceArray(Value):
    """An array on the device.  numpy.asarray makes an array of it, as do numpy's functions; entry points take it as it
    is."""

    def __init__(self, library, type_name, pointer):
        super().__init__(library, type_name, pointer)
        kind = library.types[type_name]
        rank = kind["rank"]
        with library.lock:
            shape = library.function(kind["ops"]["shape"], ctypes.POINTER(ctypes.c_int64), POINTER, POINTER)(
                library.context, pointer)
        self._shape = tuple(shape[i] for i in range(rank))
        self._dtype = DTYPES[kind["elemtype"]]

    shape = property(lambda self: self._shape, doc="The sizes of the dimensions.")
    dtype = property(lambda self: self._dtype, doc="numpy's type of the elements.")
    ndim = property(lambda self: len(self._shape), doc="The number of dimensions.")
    size = property(lambda self: int(np.prod(self._shape, dtype=np.int64)), doc="The number of elements.")
    nbytes = property(lambda self: self.size * self._dtype.itemsize, doc="The size in bytes.")

    def numpy(self):
        """A copy in the memory of the host."""
        library = self._library
        out = np.empty(self._shape, self._dtype)
        values = library.function(library.types[self._type]["ops"]["values"], ctypes.c_int, POINTER, POINTER, POINTER)
        with library.lock:
            library.check(values(library.context, self._pointer, out.ctypes.data))
        return out

    @property
    def cl_mem(self):
        """The buffer as an integer, for PyOpenCL's MemoryObject.from_int_ptr; it stays the array's."""
        library = self._library
        raw = library.function(library.types[self._type]["ops"]["values_raw"], POINTER, POINTER, POINTER)
        with library.lock:
            library.sync()
            return raw(library.context, self._pointer)

    def __array__(self, dtype=None, copy=None):
        if copy is False:
            raise ValueError("an array on the device becomes one of numpy's only by a copy")
        made = self.numpy()
        return made if dtype is None else made.astype(dtype, copy=False)

    def __bytes__(self):
        """The elements, as those of an array of numpy's."""
        return self.numpy().tobytes()

    def __dlpack__(self, **options):
        return self.numpy().__dlpack__(**options)

    def __dlpack_device__(self):
        return (1, 0)  # the memory of the host: what is handed out is a copy

    def __len__(self):
        if not self._shape:
            raise TypeError("len() of an array without dimensions")
        return self._shape[0]

    def __getitem__(self, index):
        return self.numpy()[index]

    def __iter__(self):
        return iter(self.numpy())

    def __repr__(self):
        sizes = "".join(f"[{size}]" for size in self._shape)
        return f"<{sizes}{self._type.replace('[]', '')} on the device>"


class Opaque(Value):
    """A value on the device that is neither a number nor an array: with on_device=True a value of a sum type."""

    def __bytes__(self):
        """The value as bytes, from which restore makes it again."""
        library = self._library
        kind = library.types[self._type]
        data, size = POINTER(), ctypes.c_size_t()
        store = library.function(kind["ops"]["store"], ctypes.c_int, POINTER, POINTER, POINTER, POINTER)
        with library.lock:
            library.check(store(library.context, self._pointer, ctypes.byref(data), ctypes.byref(size)))
        try:
            return ctypes.string_at(data, size.value)
        finally:
            free_text(data)

    def parts(self):
        """The arrays and numbers that the value consists of, in order: for an array of records one array for each
        field, by the names of the fields; for a sum type the number of the constructor and all that constructors hold."""
        return tuple(read_leaves(bytes(self)))

    def numpy(self):
        """The value on the host, as a call without on_device=True returns it."""
        return results.from_leaves(self._library, self._type, self.parts())

    def __repr__(self):
        return f"<{self._type} on the device>"


class OpaqueArray(Opaque):
    """An array of tuples, records or values of a sum type on the device.  `value[i]` is an element, as Python sees it,
    `value[i] = element` puts another in its place, `value["x"]` is the array of the field `x`, on the device."""

    def __init__(self, library, type_name, pointer):
        super().__init__(library, type_name, pointer)
        self._kind = array_kind(library, type_name)

    @property
    def shape(self):
        """The sizes of the dimensions."""
        library = self._library
        take = library.function(self._kind["shape"], ctypes.POINTER(ctypes.c_int64), POINTER, POINTER)
        with library.lock:
            return tuple(take(library.context, self._pointer)[:self._kind["rank"]])

    def __len__(self):
        return self.shape[0]

    def __iter__(self):
        return iter(self.tolist())

    def tolist(self):
        """The elements in a list, of lists if there are several dimensions."""
        return results.elements_of(self._library, self._kind["elemtype"], self.shape, self.parts())

    def _place(self, index):
        """The index of an element, from the beginning of each dimension."""
        index = index if isinstance(index, tuple) else (index,)
        shape = self.shape
        if len(index) != len(shape):
            raise IndexError(f"expected {len(shape)} ind{'ex' if len(shape) == 1 else 'ices'}, found {len(index)}")
        place = [operator.index(i) for i in index]
        for i, size in zip(place, shape):
            if not -size <= i < size:
                raise IndexError(f"index {i} is out of bounds for {size} elements")
        return [i + size * (i < 0) for i, size in zip(place, shape)]

    def _field(self, name):
        fields = {field["name"]: field for field in self._kind.get("fields", [])}
        if name not in fields:
            raise KeyError(f"{self._type} has no field {name}; it has {', '.join(fields) or 'none'}")
        return results.project(self._library, self._type, self._pointer, fields[name], True)

    def __getitem__(self, index):
        library, elem = self._library, self._kind["elemtype"]
        if isinstance(index, str):
            with library.lock:
                return self._field(index)
        place, out = self._place(index), POINTER()
        take = library.function(self._kind["index"], ctypes.c_int, POINTER, POINTER, POINTER,
                                *[ctypes.c_int64] * len(place))
        with library.lock:
            library.check(take(library.context, ctypes.byref(out), self._pointer, *place))
            return results.from_library(library, elem, out.value, False)

    def __setitem__(self, index, element):
        library, elem = self._library, self._kind["elemtype"]
        place = self._place(index)
        shapes = [leaf.shape[len(place):] for leaf in self.parts()]
        made = arguments.to_library(library, "element", elem, element, shapes)
        put = library.function(self._kind["set"], ctypes.c_int, POINTER, POINTER, POINTER,
                               *[ctypes.c_int64] * len(place))
        with library.lock:
            library.check(put(library.context, self._pointer, made._pointer, *place))

    def __repr__(self):
        sizes = "".join(f"[{size}]" for size in self.shape)
        return f"<{sizes}{self._kind['elemtype']} on the device>"


def opaque(library, type_name, pointer):
    made = OpaqueArray if array_kind(library, type_name) else Opaque
    return made(library, type_name, pointer)


def free_text(pointer):
    take_text(pointer.value)


def restore(library, type_name, data):
    """The value whose bytes these are."""
    kind = library.types.get(type_name)
    if not kind or kind["kind"] != "opaque":
        raise TypeError(f"{type_name} is no type of values that are stored")
    data = bytes(memoryview(data))
    check_stored(data)
    make = library.function(kind["ops"]["restore"], POINTER, POINTER, POINTER)
    buffer = ctypes.create_string_buffer(data, len(data))
    with library.lock:
        return opaque(library, type_name, library.checked(make(library.context, buffer)))
