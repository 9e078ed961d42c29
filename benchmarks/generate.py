#!/usr/bin/env python3
"""Writes the benchmark data sets that are made by rule, in Fl's binary format.

    generate.py [-o FOLDER] [PATTERN ...]     default: data/generated beside this file, everything
    generate.py --list                        names and sizes
    generate.py --check                       verifies the generator against known values

A PATTERN is a shell pattern on names such as `nn/D1` or `matmul/2pow20_*`.  Existing files are
kept; delete them to make them anew.  Uses numpy if there is one, else only the standard library.

Numbers come from a counter-based generator: element i of the stream with seed s is the splitmix64
finaliser of s + (i + 1) * 0x9E3779B97F4A7C15.
"""

import argparse
import array
import fnmatch
import os
import struct
import sys

try:
    import numpy
except ImportError:
    numpy = None

MASK = (1 << 64) - 1
GAMMA = 0x9E3779B97F4A7C15
MULTIPLIERS = (0xBF58476D1CE4E5B9, 0x94D049BB133111EB)
CHUNK = 1 << 16


# ---- streams of 64-bit numbers, a chunk at a time

def mixed_numpy(seed, first, count):
    """Elements first .. first+count-1 of a stream, as an array of uint64."""
    with numpy.errstate(over="ignore"):
        z = numpy.arange(first + 1, first + count + 1, dtype=numpy.uint64)
        z = z * numpy.uint64(GAMMA) + numpy.uint64(seed)
        z = (z ^ (z >> numpy.uint64(30))) * numpy.uint64(MULTIPLIERS[0])
        z = (z ^ (z >> numpy.uint64(27))) * numpy.uint64(MULTIPLIERS[1])
        return z ^ (z >> numpy.uint64(31))


def mixed_python(seed, first, count):
    """The same as a list of integers."""
    out = []
    base = (seed + first * GAMMA) & MASK
    for _ in range(count):
        base = (base + GAMMA) & MASK
        z = ((base ^ (base >> 30)) * MULTIPLIERS[0]) & MASK
        z = ((z ^ (z >> 27)) * MULTIPLIERS[1]) & MASK
        out.append(z ^ (z >> 31))
    return out


# ---- ranges: functions from such a chunk to little-endian bytes

def to_bytes(typecode, values):
    """Packs a list of numbers."""
    packed = array.array(typecode, values)
    if sys.byteorder == "big":
        packed.byteswap()
    return packed.tobytes()


def f32_range(low, high):
    """f32 in [low, high): 24 random bits, computed in f64 and rounded once."""
    def convert(z):
        if numpy is not None:
            fraction = (z >> numpy.uint64(40)).astype(numpy.float64) * 2.0 ** -24
            return (low + (high - low) * fraction).astype("<f4").tobytes()
        return to_bytes("f", [low + (high - low) * ((v >> 40) * 2.0 ** -24) for v in z])
    return convert


def i32_full(z):
    """i32 over the full range: the upper half of each number."""
    if numpy is not None:
        return (z >> numpy.uint64(32)).astype("<u4").tobytes()
    return to_bytes("I", [v >> 32 for v in z])


def i32_range(low, high):
    """i32 in [low, high]."""
    def convert(z):
        span = high - low + 1
        if numpy is not None:
            upper = (z >> numpy.uint64(32)) % numpy.uint64(span)
            return (upper.astype(numpy.int64) + low).astype("<i4").tobytes()
        return to_bytes("i", [low + (v >> 32) % span for v in z])
    return convert


def u8_full(z):
    """u8 over the full range."""
    if numpy is not None:
        return (z >> numpy.uint64(56)).astype("u1").tobytes()
    return bytes(v >> 56 for v in z)


# ---- values

class Random:
    """An array filled from the stream of one seed."""

    def __init__(self, seed, elem, shape, convert):
        self.seed, self.elem, self.shape, self.convert = seed, elem, shape, convert

    def chunks(self):
        """The elements' bytes, a chunk at a time."""
        total = count_of(self.shape)
        mixed = mixed_python if numpy is None else mixed_numpy
        for first in range(0, total, CHUNK):
            yield self.convert(mixed(self.seed, first, min(CHUNK, total - first)))


class Exact:
    """A value whose i32 elements are given by a function of the position; shape () is a scalar."""

    def __init__(self, shape, element):
        self.elem, self.shape, self.element = "i32", shape, element

    def chunks(self):
        """The elements' bytes, a chunk at a time."""
        total = count_of(self.shape)
        for first in range(0, total, CHUNK):
            last = min(first + CHUNK, total)
            yield to_bytes("i", [self.element(i) for i in range(first, last)])


def count_of(shape):
    """The number of elements."""
    total = 1
    for size in shape:
        total *= size
    return total


def write(path, values):
    """Writes values one after the other, complete or not at all."""
    os.makedirs(os.path.dirname(path), exist_ok=True)
    partial = path + ".partial"
    with open(partial, "wb") as out:
        for value in values:
            out.write(b"b" + bytes((2, len(value.shape))) + value.elem.rjust(4).encode())
            out.write(b"".join(struct.pack("<q", size) for size in value.shape))
            for chunk in value.chunks():
                out.write(chunk)
    os.replace(partial, path)


# ---- the data sets

def uniform(seed, shape, low=0.0, high=1.0):
    """An f32 array."""
    return Random(seed, "f32", shape, f32_range(low, high))


def full(seed, shape):
    """An i32 array over the full range."""
    return Random(seed, "i32", shape, i32_full)


def scalar(number):
    """An i32."""
    return Exact((), lambda i: number)


def matmul(k, n):
    """Matrices 2^n x 2^(k-2n) and its transposed shape."""
    seed = {20: 2000, 25: 2500}[k] + 2 * n
    rows, columns = 1 << n, 1 << (k - 2 * n)
    return [uniform(seed, (rows, columns)), uniform(seed + 1, (columns, rows))]


def nn(seed, queries, points):
    """Queries all at (30, 90), points anywhere."""
    return [scalar(100),
            uniform(seed, (queries,), 30.0, 30.0), uniform(seed + 1, (queries,), 90.0, 90.0),
            uniform(seed + 2, (queries, points), 0.0, 360.0),
            uniform(seed + 3, (queries, points), 0.0, 360.0)]


def nw_border(length):
    """Multiples of -10 along the upper and left border, 0 inside."""
    def element(i):
        row, column = divmod(i, length)
        return -10 * (row + column) if row == 0 or column == 0 else 0
    return Exact((length * length,), element)


def nw_train():
    """A table of 1537 x 1537 with small scores."""
    length = 1537
    scores = Random(311, "i32", (length * length,), i32_range(-4, 9))
    return [scalar(10), nw_border(length), scores]


DATASETS = {
    "nn/train-D1": lambda: nn(420, 1, 700000),
    "nn/train-D2": lambda: nn(430, 2048, 256),
    "nn/D1": lambda: nn(400, 1, 855280),
    "nn/D2": lambda: nn(410, 4096, 128),
    "nw/train": nw_train,
    "nw/D1": lambda: [scalar(10), full(300, (2049 * 2049,)), full(301, (2049 * 2049,))],
    "pathfinder/train-D1": lambda: [full(520, (1, 50, 50000))],
    "pathfinder/train-D2": lambda: [full(530, (300, 100, 192))],
    "pathfinder/D1": lambda: [full(500, (1, 100, 100096))],
    "pathfinder/D2": lambda: [full(510, (391, 100, 256))],
}
for work in (20, 25):
    for outer in range(11):
        DATASETS["matmul/2pow%d_work_2pow%d_outer" % (work, outer)] = (
            lambda k=work, n=outer: matmul(k, n))


# ---- command line

def first_three(value, code):
    """The first elements of a small random value."""
    return list(array.array(code, b"".join(value.chunks())))[:3]


def check():
    """Compares the first elements of three streams with known values."""
    floats = first_three(uniform(7, (3,), -1.0, 1.0), "f")
    assert [struct.pack("<f", v) for v in floats] == [
        struct.pack("<f", v) for v in (-0.22034061, -0.966423512, 0.801521301)], floats
    ints = first_three(full(9, (3,)), "i")
    assert ints == [-1364241666, -1070757282, 1139551205], ints
    octets = first_three(Random(1, "u8", (3,), u8_full), "B")
    assert octets == [145, 190, 248], octets
    print("generator agrees with the known values")


def main():
    """Reads the command line and writes what it asks for."""
    here = os.path.dirname(os.path.abspath(__file__))
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("-o", metavar="FOLDER", dest="folder",
                        default=os.path.join(here, "data", "generated"))
    parser.add_argument("--list", action="store_true", help="print names and sizes")
    parser.add_argument("--check", action="store_true", help="verify the generator")
    parser.add_argument("patterns", nargs="*", default=["*"])
    options = parser.parse_args()
    if options.check:
        return check()
    names = [n for n in DATASETS if any(fnmatch.fnmatch(n, p) for p in options.patterns)]
    if not names:
        parser.error("no data set is called " + " or ".join(options.patterns))
    for name in names:
        values = DATASETS[name]()
        size = sum(count_of(v.shape) * 4 for v in values)
        path = os.path.join(options.folder, name + ".in")
        if not options.list and not os.path.exists(path):
            write(path, values)
        print("%10d bytes  %s" % (size, name if options.list else path))


if __name__ == "__main__":
    sys.exit(main())
