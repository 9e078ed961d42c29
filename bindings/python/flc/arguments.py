"""Values of Python for the library.

An array is a numpy array or a DeviceArray, a tuple a tuple, a record a named tuple (a mapping or an object with these
attributes on the way in), a value of a sum type a tuple of the constructor's name and its arguments, an array of
records a structured array, an array of sums an OpaqueArray.

What is no scalar, array, tuple or record goes through *leaves*: the numbers and arrays that it consists of, which the
library stores and restores; the manifest says what they mean.
"""
import ctypes
from collections.abc import Mapping

import numpy as np

from . import device
from .arrays import as_numpy, scalar_of, type_of
from .errors import DeviceError
from .library import DTYPES, POINTER, SCALARS
from .stored import array_kind, folded, leaf_count, stored


def new_array(library, what, type_name, value):
    kind = library.types[type_name]
    array = as_numpy(what, value, DTYPES[kind["elemtype"]], kind["rank"])
    make = library.function(kind["ops"]["new"], POINTER, POINTER, POINTER, *[ctypes.c_int64] * kind["rank"])
    with library.lock:
        return device.DeviceArray(library, type_name, library.checked(make(library.context, array.ctypes.data, *array.shape)))


def to_scalar(what, type_name, value):
    dtype = DTYPES[type_name]
    if isinstance(value, device.Value):
        raise TypeError(f"{what}: expected {type_name}, found {value.type}")
    number = as_numpy(what, value, dtype, 0)
    return SCALARS[type_name]((number.view(np.uint16) if type_name == "f16" else number).item())


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
    return device.Opaque(library, type_name, out.value)


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
    return device.OpaqueArray(library, type_name, out.value)


def new_of_values(library, what, type_name, shape, elements):
    """An array of values that lie on the device."""
    kind = array_kind(library, type_name)
    made = [to_library(library, f"{what}[{i}]", kind["elemtype"], one) for i, one in enumerate(elements)]
    make = library.function(kind["new"], ctypes.c_int, POINTER, POINTER, POINTER, *[ctypes.c_int64] * len(shape))
    pointers, out = (POINTER * max(len(made), 1))(*[one._pointer for one in made]), POINTER()
    with library.lock:
        library.check(make(library.context, ctypes.byref(out), pointers, *shape))
    return device.OpaqueArray(library, type_name, out.value)


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
    elements = [one.numpy() if isinstance(one, device.Opaque) else one for one in elements]
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
    if isinstance(value, device.Value) and value.type == type_name:
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
        if elements and all(isinstance(one, device.Opaque) for one in elements):
            return new_of_values(library, what, type_name, shape, elements)
    if "record_array" in library.types[type_name]:
        return new_record_array(library, what, type_name, value)
    return device.restore(library, type_name, stored(leaves_of_sums(library, what, type_name, value)))


def to_library(library, what, type_name, value, shapes=None):
    """The value for a function of the library: a ctypes scalar, or a Value.  `shapes` are those of its leaves, as far as
    they are known."""
    kind = library.types.get(type_name)
    if isinstance(value, device.Value) and kind:
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
    return device.restore(library, type_name, stored(to_leaves(library, what, type_name, value, shapes)))


def learn_shape(known, sizes, shape):
    if len(shape) == len(sizes):
        known.update((size, length) for size, length in zip(sizes, shape) if size < 0)


def learn_sizes(library, known, type_name, value, sizes):
    """Notes which sizes of the entry point the parts of an argument tell.  (What is wrong with it is found later.)"""
    kind = library.types.get(type_name, {})
    if isinstance(value, device.Opaque):
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
        learn_shape(known, sizes[0], value.shape if isinstance(value, device.DeviceArray) else np.shape(value))


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
    return made._pointer if isinstance(made, device.Value) else made


def moved(library, type_name, value):
    """A value of another library, for this one; other values as they are."""
    if isinstance(value, device.DeviceArray):
        return value.numpy()
    return device.restore(library, type_name, bytes(value)) if isinstance(value, device.Opaque) else value


def host_parts(made, type_name):
    """What a value made for the library consists of, as numpy's numbers and arrays."""
    if isinstance(made, device.DeviceArray):
        return [made.numpy()]
    return list(made.parts()) if isinstance(made, device.Opaque) else [scalar_of(type_name, made.value)]
