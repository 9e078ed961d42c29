"""Stored values: a header of 16 bytes, then binary values (docs/test-blocks.md), the *leaves* of the value; and what its
type says of them."""
import struct

import numpy as np

from .library import DTYPES

HEADER = struct.Struct("<8sQ")
BINARY_TYPES = {name.rjust(4).encode(): dtype for name, dtype in DTYPES.items()}


def check_stored(data):
    if len(data) < HEADER.size or HEADER.unpack_from(data)[1] != len(data) - HEADER.size:
        raise ValueError("the bytes are no stored value")


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


def stored(leaves):
    """The bytes of a value that consists of these."""
    data = b"".join(map(binary_value, leaves))
    return HEADER.pack(b"flcval01", len(data)) + data


def folded(elements, shape):
    """The elements in nested lists of this shape."""
    for size in reversed(shape[1:]):
        elements = [elements[i * size:(i + 1) * size] for i in range(len(elements) // size if size else 0)]
    return elements


def leaf_count(library, type_name):
    return len(library.types.get(type_name, {}).get("leaves", [None]))


def array_kind(library, type_name):
    """What the manifest says of an array of tuples, records or sums; None for other types."""
    kind = library.types.get(type_name, {})
    return kind.get("record_array") or kind.get("opaque_array")
