#!/usr/bin/env python3
"""Random reductions, scans, histograms, scatters and filters: of all types, tuples and rows, with operators that commute and
that do not, of any length, alone and within maps and loops; each run in every version, on the device as in the interpreter.

collective.py FLC [--count N] [--seed S] [--workers N]
"""
import sys

from as_tests import main

INTEGERS = ["i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64"]
SIZES = [0, 1, 2, 3, 7, 16, 17, 31, 64, 100, 257, 1000]
LONG = [4097, 20000, 70000]


class Operator:
    """Of elements of a type, associative; `of` makes an element of x: i32 and its position p: i64."""

    def __init__(self, type_, fn, neutral, of):
        self.type, self.fn, self.neutral, self.of = type_, fn, neutral, of


def number(r, t):
    """Floats hold small whole numbers, of which sums are exact."""
    return f"{t}.i32 (x % {r.choice([3, 10, 100])})" if t != "i32" else "x"


def single(r):
    t = r.choice(INTEGERS + ["f32", "f64", "f16", "bool"])
    if t == "bool":
        fn, neutral = r.choice([("(&&)", "true"), ("(||)", "false"), ("(==)", "true"), ("(!=)", "false")])
        return Operator(t, fn, neutral, f"x % {r.choice([2, 3, 7])} == 0")
    choices = [(f"{t}.max", f"{t}.lowest"), (f"{t}.min", f"{t}.highest")]
    if t[0] == "f":
        of = f"{t}.i32 (x % {2 if t == 'f16' else 10})"
        if t != "f16":
            choices.append(("(+)", "0"))
    else:
        of = number(r, t)
        choices += [("(+)", "0"), ("(*)", "1"), ("(^)", "0"), ("(|)", "0"), ("(&)", f"({t}.not 0)")]
    fn, neutral = r.choice(choices)
    return Operator(t, fn, neutral, of)


def pair(r):
    a, b = single(r), single(r)
    return Operator(f"({a.type}, {b.type})", f"(\\(a, b) (c, d) -> ({a.fn} a c, {b.fn} b d))",
                    f"({a.neutral}, {b.neutral})", f"({a.of}, {b.of})")


def best(r):
    """The least element and where it is; of equal ones the first, or that of the least number."""
    t = r.choice(["i32", "i64", "u8", "f32", "f64"])
    low, sign = r.choice([(f"{t}.highest", "<"), (f"{t}.lowest", ">")])
    fn = f"(\\(a, i) (b, j) -> if a {sign} b || (a == b && i < j) then (a, i) else (b, j))"
    return Operator(f"({t}, i64)", fn, f"({low}, i64.highest)", f"({number(r, t)}, p)")


def affine(r):
    """Functions a * x + b, one after the other: does not commute."""
    t = r.choice(["i32", "i64", "u8", "u32"])
    return Operator(f"({t}, {t})", "(\\(a, b) (c, d) -> (a * c, b * c + d))", "(1, 0)",
                    f"({number(r, t)}, {t}.i64 p)")


def segments(r):
    """Sums that begin anew at flags: does not commute."""
    t = r.choice(["i32", "i64", "f32"])
    return Operator(f"(bool, {t})", "(\\(f, a) (g, b) -> (f || g, if g then b else a + b))", "(false, 0)",
                    f"(x % {r.choice([2, 5, 50])} == 0, {t}.i32 (x % 10))")


def matrix(r):
    t = r.choice(["i32", "i64"])
    return Operator(f"({t}, {t}, {t}, {t})",
                    "(\\(a, b, c, d) (e, f, g, h) -> (a * e + b * g, a * f + b * h, c * e + d * g, c * f + d * h))",
                    "(1, 0, 0, 1)", f"({number(r, t)}, {t}.i64 p, 1, {number(r, t)})")


def last(r):
    """The last one that is not neutral: does not commute."""
    return Operator("(bool, i64)", "(\\(f, a) (g, b) -> if g then (g, b) else (f, a))", "(false, 0)",
                    f"(x % {r.choice([2, 9, 90])} == 0, p)")


def row(r):
    width, inner = r.choice([1, 2, 3, 4, 5, 16, 17]), single(r)
    return Operator(f"[{width}]{inner.type}", f"(map2 ({inner.fn}))", f"(replicate {width} ({inner.neutral}))",
                    f"(tabulate {width} (\\q -> let x = x + i32.i64 q in {inner.of}))")


def operator(r):
    return r.choice([single, single, pair, best, affine, segments, matrix, last, row])(r)


def commuting(r):
    return r.choice([single, single, pair, best, row])(r)


def elements(op, xs):
    return f"(map2 (\\x p -> {op.of}) {xs} (indices {xs}))"


def keys(r, xs):
    """Some are outside of the bins."""
    key = r.choice(["i64.i32 x", "i64.i32 x % m", "(p * 7 + 3) % (m + 1)", "p / 3", "(p + i64.i32 x) % i64.max 1 (m / 2)", "0", "m - 1 - p % 2"])
    return f"(map2 (\\x p -> {key}) {xs} (indices {xs}))"


def reduction(r, xs):
    op = operator(r)
    return op.type, f"reduce {op.fn} {op.neutral} {elements(op, xs)}"


def prefixes(r, xs):
    op = operator(r)
    text = f"scan {op.fn} {op.neutral} {elements(op, xs)}"
    if r.random() < 0.3:
        return op.type, f"(\\ys -> if null ys then {op.neutral} else last ys) ({text})"
    return f"[]{op.type}", text


def bins(r, xs):
    op = commuting(r)
    return f"[]{op.type}", f"hist {op.fn} {op.neutral} m {keys(r, xs)} {elements(op, xs)}"


def update_bins(r, xs):
    op = commuting(r)
    return f"[]{op.type}", f"reduce_by_index (replicate m {op.neutral}) {op.fn} {op.neutral} {keys(r, xs)} {elements(op, xs)}"


def spread(r, xs):
    """Each place is written once at most, as which of two writes wins is not defined."""
    op = operator(r)
    place = r.choice(["p", "p + 1", "2 * p", "m - 1 - p", "if p % 3 == 0 then p / 3 else -1"])
    return f"[]{op.type}", f"scatter (replicate m {op.neutral}) (map (\\p -> {place}) (indices {xs})) {elements(op, xs)}"


def kept(r, xs):
    op = r.choice([single, pair, best, row])(r)
    condition = r.choice(["x % 2 == 0", "x > 50", "p % 7 != 0", "x < 0", "true", "p < m"])
    chosen = f"filter (\\(x, p) -> {condition}) (zip {xs} (indices {xs}))"
    if r.random() < 0.4:
        return "i64", f"length ({chosen})"
    return f"[]{op.type}", f"map (\\(x, p) -> {op.of}) ({chosen})"


def parted(r, xs):
    a, b = r.choice([("x % 2 == 0", "x % 3 == 0"), ("p < m", "x > 9")])
    return "([]i32, []i64)", ("(\\(u, v) -> (map (.0) u, map (.1) v)) "
                              f"(partition (\\(x, p) -> {a} || {b}) (zip {xs} (indices {xs})))")


def within(r, kind):
    """For each row; results of rows have sizes that do not depend on the row."""
    return f"map (\\xs -> {kind}) xss"


OF_ROWS = [reduction, prefixes, bins, update_bins, spread]


def entry(r, name):
    if r.random() < 0.5:
        type_, text = r.choice([reduction, prefixes, prefixes, bins, update_bins, spread, kept, parted])(r, "xs")
        head, sizes = f"entry {name} [n] (m: i64) (xs: [n]i32) : {type_}", [f"[{n}]i32" for n in r.sample(SIZES, 3) + [r.choice(LONG)]]
    else:
        type_, text = r.choice(OF_ROWS)(r, "xs")
        text = within(r, text)
        head = f"entry {name} [l][n] (m: i64) (xss: [l][n]i32) : []{type_}"
        sizes = [f"[{l}][{n}]i32" for l, n in zip(r.sample([0, 1, 2, 5, 17, 200], 3), r.sample(SIZES, 3))]
    if r.random() < 0.2 and type_[0] != "(" and "filter" not in text:
        sum_ = f"let f (k: i32) = let xs{'s' if 'xss' in head else ''} = map ({'map ' if 'xss' in head else ''}(+ k)) xs{'s' if 'xss' in head else ''} in {text}\n"
        text = sum_.replace("(+ k)", "((+ k))") + "  in f 3"
    blocks = [f"-- entry: {name}"] + [f"-- random input {{ {r.choice([1, 2, 5, 64, 300])}i64 {s} }} auto output" for s in sizes]
    return blocks, f"{head} =\n  {text}"


def program(r, _workers=None):
    blocks, entries = [], []
    for k in range(5):
        lines, text = entry(r, f"entry_{k}")
        blocks += lines
        entries.append(text)
    return "-- Made by collective.py.\n-- ==\n" + "\n".join(blocks) + "\n\n" + "\n".join(entries) + "\n"


if __name__ == "__main__":
    sys.exit(main(program))
