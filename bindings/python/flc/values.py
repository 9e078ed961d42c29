"""Values on their way between Python and a library.

An array is a numpy array or a DeviceArray, a tuple a tuple, a record a named tuple (a mapping or an object with these
attributes on the way in), a value of a sum type a tuple of the constructor's name and its arguments, an array of
records a structured array, an array of sums an OpaqueArray.

What is no scalar, array, tuple or record goes through *leaves*: the numbers and arrays that it consists of, which the
library stores and restores; the manifest says what they mean.
"""
import collections
import ctypes
import keyword
import operator
import struct
from collections.abc import Mapping

import numpy as np

from .errors import DeviceError
from .library import DTYPES, POINTER, SCALARS, take_text


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
        return to_library(self._library, "value", self._type, moved(self._library, self._type, self))

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
        return from_leaves(self._library, self._type, self.parts())

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
        return elements_of(self._library, self._kind["elemtype"], self.shape, self.parts())

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
        return project(self._library, self._type, self._pointer, fields[name], True)

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
            return from_library(library, elem, out.value, False)

    def __setitem__(self, index, element):
        library, elem = self._library, self._kind["elemtype"]
        place = self._place(index)
        shapes = [leaf.shape[len(place):] for leaf in self.parts()]
        made = to_library(library, "element", elem, element, shapes)
        put = library.function(self._kind["set"], ctypes.c_int, POINTER, POINTER, POINTER,
                               *[ctypes.c_int64] * len(place))
        with library.lock:
            library.check(put(library.context, self._pointer, made._pointer, *place))

    def __repr__(self):
        sizes = "".join(f"[{size}]" for size in self.shape)
        return f"<{sizes}{self._kind['elemtype']} on the device>"


def array_kind(library, type_name):
    """What the manifest says of an array of tuples, records or sums; None for other types."""
    kind = library.types.get(type_name, {})
    return kind.get("record_array") or kind.get("opaque_array")


def opaque(library, type_name, pointer):
    made = OpaqueArray if array_kind(library, type_name) else Opaque
    return made(library, type_name, pointer)


def free_text(pointer):
    take_text(pointer.value)


# ---- stored values: a header of 16 bytes, then binary values (docs/test-blocks.md)

HEADER = struct.Struct("<8sQ")
BINARY_TYPES = {name.rjust(4).encode(): dtype for name, dtype in DTYPES.items()}


def read_leaves(data):
    at = HEADER.size
    while at < len(data):
        if data[at:at + 1] in b" \n":
            at += 1
            continue
        rank, dtype = data[at + 2], BINARY_TYPES[data[at + 3:at + 7]].newbyteorder("<")
        shape = struct.unpack_from(f"<{rank}Q", data, at + 7)
        at += 7 + 8 * rank
        count = int(np.prod(shape, dtype=np.int64))
        values = np.frombuffer(data, dtype, count, at).reshape(shape).copy()
        at += count * dtype.itemsize
        yield values if rank else values[()]


def binary_value(value):
    """A number or numpy array in the format of data files."""
    value = np.asarray(value, order="C")
    name = next(name for name, dtype in DTYPES.items() if dtype == value.dtype)
    head = b"b" + bytes([2, value.ndim]) + name.rjust(4).encode() + struct.pack(f"<{value.ndim}Q", *value.shape)
    return head + value.astype(value.dtype.newbyteorder("<")).tobytes()


def restore(library, type_name, data):
    """The value whose bytes these are."""
    kind = library.types.get(type_name)
    if not kind or kind["kind"] != "opaque":
        raise TypeError(f"{type_name} is no type of values that are stored")
    if len(data) < HEADER.size or HEADER.unpack_from(data)[1] != len(data) - HEADER.size:
        raise ValueError("the bytes are no stored value")
    make = library.function(kind["ops"]["restore"], POINTER, POINTER, POINTER)
    buffer = ctypes.create_string_buffer(data, len(data))
    with library.lock:
        return opaque(library, type_name, library.checked(make(library.context, buffer)))


# ---- into the library


# Kinds of Python's numbers that become numbers of a kind.
ACCEPTED = {"b": "b", "i": "iu", "u": "iu", "f": "iuf"}


def in_range(what, dtype, numbers, fits):
    """OverflowError with the first of the numbers that does not fit."""
    outside = next((one for one, inside in zip(numbers.flat, fits.flat) if not inside), None)
    if outside is not None:
        raise OverflowError(f"{what}: {outside} is out of range for {dtype}")


def of_integers(what, value, found, dtype):
    """Integers that numpy has no common type for, as [1, 2**63]; other values as they were found."""
    objects = np.asarray(value, object)
    if not all(isinstance(one, (int, np.integer)) and not isinstance(one, bool) for one in objects.flat):
        return found
    limits = np.iinfo(dtype)
    in_range(what, dtype, objects, np.asarray([limits.min <= one <= limits.max for one in objects.flat]))
    return objects.astype(dtype)


def from_python(what, value, found, dtype):
    """Lists and numbers, which have no exact type of their own: what does not fit is an error."""
    if found.size and found.dtype.kind not in ACCEPTED[dtype.kind]:
        raise TypeError(f"{what}: expected {dtype}, found {type_of(value, found)}")
    if found.size and dtype.kind in "iu":
        limits = np.iinfo(dtype)
        if not limits.min <= int(found.min()) <= int(found.max()) <= limits.max:
            of_integers(what, found.tolist(), found, dtype)
    with np.errstate(over="ignore"):
        made = found.astype(dtype)
    if dtype.kind == "f":
        in_range(what, dtype, found, np.isinf(made) == np.isinf(found))
    return made


def type_of(value, found):
    """What messages call the type of a value, which numpy has found to be `found`."""
    if isinstance(value, np.ndarray):
        fields = value.dtype.names
        return f"an array with the fields {', '.join(fields)}" if fields else f"{found.dtype}"
    if isinstance(value, (list, tuple, range)) and found.size:
        kinds = dict.fromkeys(type(one).__name__ for one in np.asarray(value, object).flat)
        return f"a {type(value).__name__} of {' and '.join(kinds)}"
    return type(value).__name__


def find_array(what, value, wanted):
    """The value as numpy sees it."""
    if isinstance(value, np.ma.MaskedArray) and np.ma.is_masked(value):
        raise TypeError(f"{what}: expected {wanted}, found elements that are masked")
    if isinstance(value, bytes):
        return np.frombuffer(value, np.uint8)
    if not isinstance(value, (np.ndarray, np.generic)) and hasattr(value, "__dlpack__"):
        value = np.from_dlpack(value)
    try:
        return np.asarray(value)
    except ValueError:
        raise TypeError(f"{what}: the rows of an array must be equally long") from None


def as_numpy(what, value, dtype, rank):
    """An array of that type and rank, contiguous; numbers are converted only where nothing is lost."""
    wanted = f"an array of {dtype}" if rank else f"{dtype}"
    made = find_array(what, value, wanted)
    number = isinstance(value, (int, float, np.generic)) or (isinstance(value, np.ndarray) and not made.ndim)
    loose = number or isinstance(value, (list, tuple, range))
    if loose and dtype.kind in "iu" and made.dtype.kind in "fO" and made.size:
        made = of_integers(what, value, made, dtype)
    if made.ndim and not rank:
        raise TypeError(f"{what}: expected {wanted}, found an array of {made.ndim} dimension{'s' * (made.ndim != 1)}")
    if made.dtype.kind not in "biuf":
        hint = " (its .encode() is one of u8)" if rank == 1 and isinstance(value, str) and dtype == np.uint8 else ""
        raise TypeError(f"{what}: expected {wanted}, found {type_of(value, made)}{hint}")
    if loose:
        made = from_python(what, value, made, dtype)
    elif made.dtype != dtype:
        if not np.can_cast(made.dtype, dtype, "safe"):
            raise TypeError(f"{what}: expected {wanted}, found {made.dtype} (convert it with astype)")
        made = made.astype(dtype)
    if made.ndim != rank:
        raise TypeError(f"{what}: expected {rank} dimension{'s' * (rank != 1)}, found {made.ndim}")
    return np.ascontiguousarray(made).reshape(made.shape)


def new_array(library, what, type_name, value):
    kind = library.types[type_name]
    array = as_numpy(what, value, DTYPES[kind["elemtype"]], kind["rank"])
    make = library.function(kind["ops"]["new"], POINTER, POINTER, POINTER, *[ctypes.c_int64] * kind["rank"])
    with library.lock:
        return DeviceArray(library, type_name, library.checked(make(library.context, array.ctypes.data, *array.shape)))


def to_scalar(what, type_name, value):
    dtype = DTYPES[type_name]
    if isinstance(value, Value):
        raise TypeError(f"{what}: expected {type_name}, found {value.type}")
    number = as_numpy(what, value, dtype, 0)
    return SCALARS[type_name]((number.view(np.uint16) if type_name == "f16" else number).item())


def scalar_of(type_name, value):
    """numpy's number for one of ctypes."""
    return np.uint16(value).view(np.float16) if type_name == "f16" else DTYPES[type_name].type(value)


def fields_of(what, type_name, fields, value):
    """The parts of a tuple or record, in the order of its fields."""
    names = [field["name"] for field in fields]
    if isinstance(value, Mapping):
        if set(value) != set(names):
            raise TypeError(f"{what}: expected the fields {', '.join(names)}, found {', '.join(map(str, value))}")
        return [value[name] for name in names]
    if isinstance(value, np.void) and set(value.dtype.names or ()) == set(names):  # an element of a structured array
        return [value[name] for name in names]
    if not type_name.startswith("(") and all(hasattr(value, name) for name in names):
        return [getattr(value, name) for name in names]
    if isinstance(value, (tuple, list)) and len(value) == len(names):
        return list(value)
    raise TypeError(f"{what}: expected {type_name}, found {type(value).__name__}")


def leaf_count(library, type_name):
    return len(library.types.get(type_name, {}).get("leaves", [None]))


def with_shapes(library, fields, parts, shapes):
    """(field, its part, the shapes of its leaves) of a tuple, record or constructor; no shapes are known where there are
    none."""
    at = 0
    for field, part in zip(fields, parts):
        count = leaf_count(library, field["type"])
        yield field, part, shapes and shapes[at:at + count]
        at += count


def new_record(library, what, type_name, value, shapes):
    kind = library.types[type_name]
    record = kind["record"]
    parts = fields_of(what, type_name, record["fields"], value)
    made = [to_library(library, f"{what}.{field['name']}", field["type"], part, own)
            for field, part, own in with_shapes(library, record["fields"], parts, shapes)]
    types = [library.c_type(field["type"]) for field in record["fields"]]
    make = library.function(record["new"], ctypes.c_int, POINTER, POINTER, *types)
    out = POINTER()
    with library.lock:
        library.check(make(library.context, ctypes.byref(out), *map(argument, made)))
    return Opaque(library, type_name, out.value)


def stored(leaves):
    """The bytes of a value that consists of these."""
    data = b"".join(map(binary_value, leaves))
    return HEADER.pack(b"flcval01", len(data)) + data


def constructor_of(value):
    """(name, argument..), or the name alone where there are no arguments."""
    if isinstance(value, str):
        value = (value,)
    return value if isinstance(value, (tuple, list)) and value else (None,)


def leaves_of_sum(library, what, type_name, value, shapes):
    kind = library.types[type_name]
    name, *arguments = constructor_of(value)
    numbers = [i for i, one in enumerate(kind["constructors"]) if one["name"] == name]
    if not numbers:
        known = ", ".join(one["name"] for one in kind["constructors"])
        found = repr(name) if isinstance(name, str) else type(value).__name__
        raise TypeError(f"{what}: expected {type_name}, a tuple that begins with one of {known}, found {found}")
    fields = kind["constructors"][numbers[0]]["fields"]
    if len(fields) != len(arguments):
        raise TypeError(f"{what}: {name} takes {len(fields)} argument{'s' * (len(fields) != 1)}, found {len(arguments)}")
    leaves = [nothing(library, leaf, sizes) for leaf, sizes in zip(kind["leaves"], shapes or kind["leaf_sizes"])]
    leaves[0] = np.uint8(numbers[0])
    for field, argument in zip(fields, arguments):
        own = shapes and shapes[field["first"]:field["first"] + leaf_count(library, field["type"])]
        made = to_leaves(library, f"{what}.{name}", field["type"], argument, own)
        leaves[field["first"]:field["first"] + len(made)] = made
    return leaves


def nothing(library, leaf, sizes):
    """What constructors that a value does not have hold: zeros, as many as the type says, else none."""
    kind = library.types.get(leaf)
    shape = [max(size, 0) for size in sizes]
    return np.zeros(shape, DTYPES[kind["elemtype"]]) if kind else DTYPES[leaf].type(0)


def depth_of(value, rank):
    """The shape of nested lists of so many dimensions, by the first of each."""
    shape = []
    for _ in range(rank):
        if not isinstance(value, (list, tuple, np.ndarray)):
            return None
        shape.append(len(value))
        value = value[0] if len(value) else []
    return tuple(shape)


def flat_elements(what, type_name, rank, value):
    """(shape, elements in order) of nested lists."""
    shape = depth_of(value, rank)
    if shape is None:
        raise TypeError(f"{what}: expected {type_name}, found {type(value).__name__}")
    elements = [value]
    for size in shape:
        if not all(isinstance(one, (list, tuple, np.ndarray)) and len(one) == size for one in elements):
            raise TypeError(f"{what}: the rows of an array must be equally long")
        elements = [one for row in elements for one in row]
    return shape, elements


def folded(elements, shape):
    """The elements in nested lists of this shape."""
    for size in reversed(shape[1:]):
        elements = [elements[i * size:(i + 1) * size] for i in range(len(elements) // size if size else 0)]
    return elements


def column_of(library, type_name, shape, parts):
    """The array of a field, from what the elements have there."""
    kind = library.types[type_name]
    if not parts and kind["kind"] == "array":
        return np.zeros((*shape, *[0] * (kind["rank"] - len(shape))), DTYPES[kind["elemtype"]])
    return folded(parts, shape)


def columns_of(library, what, type_name, value):
    """The arrays of the fields of an array of records: a structured array or a mapping by their names, or a list of
    records."""
    kind = array_kind(library, type_name)
    fields, names = kind["fields"], [field["name"] for field in kind["fields"]]
    if isinstance(value, Mapping) or isinstance(value, np.ndarray) and set(value.dtype.names or ()) == set(names):
        return fields_of(what, type_name, fields, value) if isinstance(value, Mapping) else [value[name] for name in names]
    if isinstance(value, np.ndarray):
        found = type_of(value, value) if value.dtype.names else f"an array of {value.dtype} without fields"
        raise TypeError(f"{what}: expected {type_name}, an array with the fields {', '.join(names)}, found {found}")
    if not isinstance(value, (list, tuple)):
        raise TypeError(f"{what}: expected {type_name}, an array with the fields {', '.join(names)}, found "
                        f"{type(value).__name__}")
    shape, elements = flat_elements(what, type_name, kind["rank"], value)
    rows = [fields_of(f"{what}[{i}]", kind["elemtype"], fields, one) for i, one in enumerate(elements)]
    return [column_of(library, field["type"], shape, [row[i] for row in rows]) for i, field in enumerate(fields)]


def leaves_of_records(library, what, type_name, value):
    """The leaves of an array of records."""
    fields = array_kind(library, type_name)["fields"]
    columns = columns_of(library, what, type_name, value)
    return [leaf for field, column in zip(fields, columns)
            for leaf in to_leaves(library, f"{what}.{field['name']}", field["type"], column, None)]


def new_record_array(library, what, type_name, value):
    """An array of records from an array for each field."""
    kind = array_kind(library, type_name)
    made = [to_library(library, f"{what}.{field['name']}", field["type"], column)
            for field, column in zip(kind["fields"], columns_of(library, what, type_name, value))]
    make = library.function(kind["zip"], ctypes.c_int, POINTER, POINTER, *[POINTER] * len(made))
    out = POINTER()
    with library.lock:
        library.check(make(library.context, ctypes.byref(out), *map(argument, made)))
    return OpaqueArray(library, type_name, out.value)


def new_of_values(library, what, type_name, shape, elements):
    """An array of values that lie on the device."""
    kind = array_kind(library, type_name)
    made = [to_library(library, f"{what}[{i}]", kind["elemtype"], one) for i, one in enumerate(elements)]
    make = library.function(kind["new"], ctypes.c_int, POINTER, POINTER, POINTER, *[ctypes.c_int64] * len(shape))
    pointers, out = (POINTER * max(len(made), 1))(*[one._pointer for one in made]), POINTER()
    with library.lock:
        library.check(make(library.context, ctypes.byref(out), pointers, *shape))
    return OpaqueArray(library, type_name, out.value)


def common_shapes(library, what, elem, elements):
    """The shapes of the leaves of values of a sum type: what the one constructor does not hold is as long as another's."""
    known = library.types[elem]["leaf_sizes"]
    for i, one in enumerate(elements):
        for k, leaf in used_leaves(library, f"{what}[{i}]", elem, one):
            known = [*known[:k], list(leaf.shape), *known[k + 1:]]
    return known


def used_leaves(library, what, elem, value):
    """(number, array) for the leaves that the value's constructor holds."""
    name, *arguments = constructor_of(value)
    for one in library.types[elem]["constructors"]:
        if one["name"] != name or len(one["fields"]) != len(arguments):
            continue
        for field, argument in zip(one["fields"], arguments):
            for k, leaf in enumerate(to_leaves(library, f"{what}.{name}", field["type"], argument, None)):
                yield field["first"] + k, np.asarray(leaf)


def leaves_of_sums(library, what, type_name, value):
    """The leaves of an array of values of a sum type, from nested lists."""
    kind = array_kind(library, type_name)
    elem = kind["elemtype"]
    shape, elements = flat_elements(what, type_name, kind["rank"], value)
    if "constructors" not in library.types[elem]:
        raise TypeError(f"{what}: expected {type_name}, which only programs make, found {type(value).__name__}")
    elements = [one.numpy() if isinstance(one, Opaque) else one for one in elements]
    known = common_shapes(library, what, elem, elements)
    rows = [to_leaves(library, f"{what}[{i}]", elem, one, known) for i, one in enumerate(elements)]
    return [stacked(library, what, leaf, (*shape, *known[k]), [row[k] for row in rows])
            for k, leaf in enumerate(library.types[elem]["leaves"])]


def stacked(library, what, leaf, shape, parts):
    """The leaf of an array, from those of its elements."""
    kind = library.types.get(leaf)
    dtype = DTYPES[kind["elemtype"] if kind else leaf]
    if len({np.shape(part) for part in parts}) > 1:
        raise TypeError(f"{what}: arrays in the elements must be equally long")
    shape = [max(size, 0) for size in shape]
    if parts and np.ndim(parts[0]):
        shape[-np.ndim(parts[0]):] = parts[0].shape
    return np.asarray(parts, dtype).reshape(shape)


def to_leaves(library, what, type_name, value, shapes):
    kind = library.types.get(type_name)
    if isinstance(value, Value) and value.type == type_name:
        return host_parts(value, type_name)
    if not kind:
        return [as_numpy(what, value, DTYPES[type_name], 0)]
    if kind["kind"] == "array":
        return [as_numpy(what, value, DTYPES[kind["elemtype"]], kind["rank"])]
    if "record" in kind:
        fields = kind["record"]["fields"]
        parts = with_shapes(library, fields, fields_of(what, type_name, fields, value), shapes)
        return [leaf for field, part, own in parts
                for leaf in to_leaves(library, f"{what}.{field['name']}", field["type"], part, own)]
    if "constructors" in kind:
        return leaves_of_sum(library, what, type_name, value, shapes)
    if "record_array" in kind:
        return leaves_of_records(library, what, type_name, value)
    if "opaque_array" in kind:
        return leaves_of_sums(library, what, type_name, value)
    raise TypeError(f"{what}: expected {type_name}, which only programs make, found {type(value).__name__}")


def new_opaque_array(library, what, type_name, value):
    rank = array_kind(library, type_name)["rank"]
    if isinstance(value, (list, tuple)):
        shape, elements = flat_elements(what, type_name, rank, value)
        if elements and all(isinstance(one, Opaque) for one in elements):
            return new_of_values(library, what, type_name, shape, elements)
    if "record_array" in library.types[type_name]:
        return new_record_array(library, what, type_name, value)
    return restore(library, type_name, stored(leaves_of_sums(library, what, type_name, value)))


def to_library(library, what, type_name, value, shapes=None):
    """The value for a function of the library: a ctypes scalar, or a Value.  `shapes` are those of its leaves, as far as
    they are known."""
    kind = library.types.get(type_name)
    if isinstance(value, Value) and kind:
        if value._library is not library:
            raise DeviceError(f"{what}: the value belongs to another module")
        if value.type != type_name:
            raise TypeError(f"{what}: expected {type_name}, found {value.type}")
        return value
    if not kind:
        return to_scalar(what, type_name, value)
    if kind["kind"] == "array":
        return new_array(library, what, type_name, value)
    if "record" in kind:
        return new_record(library, what, type_name, value, shapes)
    if array_kind(library, type_name):
        return new_opaque_array(library, what, type_name, value)
    return restore(library, type_name, stored(to_leaves(library, what, type_name, value, shapes)))


def learn_shape(known, sizes, shape):
    if len(shape) == len(sizes):
        known.update((size, length) for size, length in zip(sizes, shape) if size < 0)


def learn_sizes(library, known, type_name, value, sizes):
    """Notes which sizes of the entry point the parts of an argument tell.  (What is wrong with it is found later.)"""
    kind = library.types.get(type_name, {})
    if isinstance(value, Opaque):
        for leaf, own in zip(value.parts(), sizes):
            learn_shape(known, own, np.shape(leaf))
    elif "record" in kind:
        fields = kind["record"]["fields"]
        for field, part, own in with_shapes(library, fields, fields_of("", type_name, fields, value), sizes):
            learn_sizes(library, known, field["type"], part, own)
    elif "constructors" in kind:
        name, *arguments = constructor_of(value)
        fields = [field for one in kind["constructors"] if one["name"] == name for field in one["fields"]]
        for field, part in zip(fields, arguments):
            learn_sizes(library, known, field["type"], part, sizes[field["first"]:])
    elif kind:
        learn_shape(known, sizes[0], value.shape if isinstance(value, DeviceArray) else np.shape(value))


def to_arguments(library, inputs, arguments):
    """The values for the parameters of an entry point.  Arrays in constructors that a value does not have are as long as
    other parts of the arguments say."""
    known = {}
    for one, value in zip(inputs, arguments):
        try:
            if "sizes" in one:
                learn_sizes(library, known, one["type"], value, one["sizes"])
        except (TypeError, ValueError):
            pass
    shapes = [one.get("sizes") and [[known.get(size, size) for size in sizes] for sizes in one["sizes"]] for one in inputs]
    return [to_library(library, one["name"] or f"argument {i}", one["type"], value, own)
            for i, (one, value, own) in enumerate(zip(inputs, arguments, shapes))]


def argument(made):
    return made._pointer if isinstance(made, Value) else made


def moved(library, type_name, value):
    """A value of another library, for this one; other values as they are."""
    if isinstance(value, DeviceArray):
        return value.numpy()
    return restore(library, type_name, bytes(value)) if isinstance(value, Opaque) else value


def host_parts(made, type_name):
    """What a value made for the library consists of, as numpy's numbers and arrays."""
    if isinstance(made, DeviceArray):
        return [made.numpy()]
    return list(made.parts()) if isinstance(made, Opaque) else [scalar_of(type_name, made.value)]


# ---- out of the library


def record_type(library, type_name, names):
    """The class of named tuples for a record."""
    classes = library.__dict__.setdefault("record_types", {})
    if type_name not in classes:
        usable = type_name if type_name.isidentifier() and not keyword.iskeyword(type_name) else "record"
        classes[type_name] = collections.namedtuple(usable, names, rename=True)
    return classes[type_name]


def project(library, type_name, pointer, field, on_device):
    out = library.c_type(field["type"])()
    take = library.function(field["project"], ctypes.c_int, POINTER, POINTER, POINTER)
    library.check(take(library.context, ctypes.byref(out), pointer))
    return from_library(library, field["type"], out.value, on_device)


def from_library(library, type_name, value, on_device):
    """What Python sees of a result; pointers are taken over."""
    kind = library.types.get(type_name)
    if not kind:
        return scalar_of(type_name, value).item()
    if kind["kind"] == "array":
        array = DeviceArray(library, type_name, value)
        return array if on_device else array.numpy()
    made = opaque(library, type_name, value)
    if "record" in kind:
        parts = [project(library, type_name, value, field, on_device) for field in kind["record"]["fields"]]
        return make_record(library, type_name, parts)
    return made if on_device else made.numpy()


def make_record(library, type_name, parts):
    if type_name.startswith("("):
        return tuple(parts)
    names = [field["name"] for field in library.types[type_name]["record"]["fields"]]
    return record_type(library, type_name, names)(*parts)


def leaf_count(library, type_name):
    kind = library.types.get(type_name)
    return len(kind["leaves"]) if kind and kind["kind"] == "opaque" else 1


def fields_from_leaves(library, types, leaves):
    """A value for each type, from consecutive leaves."""
    made, at = [], 0
    for type_name in types:
        count = leaf_count(library, type_name)
        made.append(from_leaves(library, type_name, leaves[at:at + count]))
        at += count
    return made


def structured(names, columns, rank):
    """An array of records from an array for each field."""
    out = np.empty(columns[0].shape[:rank], [(name, column.dtype, column.shape[rank:])
                                             for name, column in zip(names, columns)])
    for name, column in zip(names, columns):
        out[name] = column
    return out


def is_structured(library, type_name):
    """Whether an array of records holds numbers and arrays of them only, at last."""
    kind = library.types[type_name]
    return kind["kind"] == "array" or bool(kind.get("record_array", {}).get("fields")) and all(
        is_structured(library, field["type"]) for field in kind["record_array"]["fields"])


def elements_of(library, elem, shape, leaves):
    """What Python sees of the elements of an array that consists of these."""
    places = [from_leaves(library, elem, [leaf[place] for leaf in leaves]) for place in np.ndindex(*shape)]
    return folded(places, shape)


def from_leaves(library, type_name, leaves):
    """What Python sees of a value that consists of these."""
    kind = library.types.get(type_name)
    if not kind:
        return leaves[0].item()
    if kind["kind"] == "array":
        return leaves[0]
    if "record" in kind:
        types = [field["type"] for field in kind["record"]["fields"]]
        return make_record(library, type_name, fields_from_leaves(library, types, leaves))
    if "constructors" in kind:
        constructor = kind["constructors"][int(leaves[0])]
        fields = constructor["fields"]
        first = fields[0]["first"] if fields else 0
        types = [field["type"] for field in fields]
        return (constructor["name"], *fields_from_leaves(library, types, leaves[first:]))
    if is_structured(library, type_name):
        fields = kind["record_array"]["fields"]
        columns = fields_from_leaves(library, [field["type"] for field in fields], leaves)
        return structured([field["name"] for field in fields], columns, kind["record_array"]["rank"])
    return restore(library, type_name, stored(leaves))
