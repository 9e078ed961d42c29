#!/usr/bin/env python3
"""Writes a call of every operator of prim.def for scalars.c: scalars.py PRIM_DEF HOST DEVICE

HOST is C that calls and compares; DEVICE the lines of a kernel, as C strings, that computes the
operators that must agree bit by bit.
"""
import re
import sys

INTS = ["i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64"]
FLOATS = ["f32", "f64"]
TYPES = INTS + FLOATS + ["bool"]
OPERANDS = {
    "INT": INTS,
    "FLOAT": FLOATS,
    "NUM": INTS + FLOATS,
    "BOOL": ["bool"],
    "INTBOOL": INTS + ["bool"],
    "ANY": TYPES,
}
# libm and the device's library differ in their last bits.
INEXACT = """pow cbrt exp exp2 exp10 expm1 log log2 log10 log1p sin cos tan asin acos atan sinpi
cospi tanpi asinpi acospi atanpi sinh cosh tanh asinh acosh atanh atan2 atan2pi hypot erf erfc gamma
lgamma""".split()
BITS = [(i, u) for i, u in zip(INTS, INTS[4:])]
# f16 is computed in f32 but for these.
HALF_OPERATORS = {"FMA": 3, "NEXTAFTER": 2}
HALF_CONVERSIONS = [("f16", "f32"), ("f32", "f16"), ("f64", "f16")]
BITS += [("i16", "f16")]
BITS += [("i32", "f32"), ("u32", "f32"), ("i64", "f64"), ("u64", "f64")]


def operators(path):
    row = re.compile(r'OP\((\w+), +".*?", +(\d), +(\w+), +(\w+),')
    for name, arity, operands, result in row.findall(open(path, encoding="utf-8").read()):
        for kind in OPERANDS[operands]:
            yield name, int(arity), kind, {"SAME": kind, "BOOL": "bool", "I32": "i32"}[result]
    for name, arity in HALF_OPERATORS.items():
        yield name, arity, "f16", "f16"


def cases(path):
    for name, arity, kind, result in operators(path):
        kinds = [kind, "i32"] if name == "LDEXP" else [kind] * arity
        args = ", ".join(f"IN_{k}(a[{i}])" for i, k in enumerate(kinds))
        yield f"flc_{name.lower()}_{kind}", args, result, f"test_op(device, OP_{name}, PRIM_{kind.upper()}"
    pairs = [(source, target) for source in TYPES for target in TYPES if source != target]
    for source, target in pairs + HALF_CONVERSIONS:
        test = f"test_conversion(device, PRIM_{source.upper()}, PRIM_{target.upper()}"
        yield f"flc_{source}_to_{target}", f"IN_{source}(a[0])", target, test
    for one, other in BITS:
        for source, target in [(one, other), (other, one)]:
            test = f"test_bits(device, PRIM_{target.upper()}, PRIM_{source.upper()}"
            yield f"flc_bits_{source}_to_{target}", f"IN_{source}(a[0])", target, test


def is_exact(function):
    op, kind = function.split("_")[1], function.split("_")[-1]
    return op not in INEXACT or kind in INTS


def write_host(rows, out):
    for function, args, result, _ in rows:
        out.write(f"static Prim apply_{function}(const Prim *a) {{\n")
        out.write(f"  return OUT_{result}({function}({args}));\n}}\n")
    out.write("static void run_all(Device *device) {\n")
    for number, (function, _, _, test) in enumerate(rows):
        exact = number if is_exact(function) else -1
        out.write(f'  {test}, apply_{function}, "{function}");\n')
        out.write("  compare_device(device, %d);\n" % exact)
    out.write("}\n")


def write_device(rows, out):
    for number, (function, args, result, _) in enumerate(rows):
        if is_exact(function):
            line = f"case {number}: r = OUT_{result}({function}({args})); break;\\n"
            out.write(f'"{line}",\n')


def main():
    path, host, device = sys.argv[1:]
    rows = list(cases(path))
    with open(host, "w", encoding="utf-8") as out:
        write_host(rows, out)
    with open(device, "w", encoding="utf-8") as out:
        write_device(rows, out)


main()
