"""What Python sees of what the library returns."""
import collections
import ctypes
import keyword

import numpy as np

from . import device
from .arrays import scalar_of
from .library import POINTER
from .stored import folded, leaf_count, stored


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
        array = device.DeviceArray(library, type_name, value)
        return array if on_device else array.numpy()
    made = device.opaque(library, type_name, value)
    if "record" in kind:
        parts = [project(library, type_name, value, field, on_device) for field in kind["record"]["fields"]]
        return make_record(library, type_name, parts)
    return made if on_device else made.numpy()


def make_record(library, type_name, parts):
    if type_name.startswith("("):
        return tuple(parts)
    names = [field["name"] for field in library.types[type_name]["record"]["fields"]]
    return record_type(library, type_name, names)(*parts)


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
    return device.restore(library, type_name, stored(leaves))
