#!/usr/bin/env python3
"""Random maps that change a region of an array, in loops, by conditions or by slices: some may be made in the
array's place, some not.

usage: regions.py FLC [--count N] [--seed S] [--workers N]

Each program is run by `flc test`, so in every version, on the device as in the interpreter.
"""
import sys

from as_tests import main


def place(r, i):
    return r.choice([i] * 5 + ["k", "k", "k + 1", f"{i} - 1", f"{i} + 1", "0", "n - 1", f"n - 1 - {i}"])


def read(r, axes):
    index = list(axes) if r.random() < 0.4 else [place(r, i) for i in axes]
    if len(axes) == 2 and r.random() < 0.05:
        index.reverse()
    inside = [f"({at}) % n" if at not in (*axes, "0", "n - 1", "k") else at for at in index]
    return f"{r.choice('aaab')}[{', '.join(inside)}]"


def value(r, axes, depth):
    if depth == 0 or r.random() < 0.3:
        return read(r, axes) if r.random() < 0.8 else r.choice(["i32.i64 k", "3", *(f"i32.i64 {i}" for i in axes)])
    if r.random() < 0.15:
        return f"(if {condition(r, axes)} then {value(r, axes, depth - 1)} else {value(r, axes, depth - 1)})"
    if r.random() < 0.1:
        return f"i32.sum (map (\\d -> {read(r, [*axes[:-1], 'd'])}) (iota (i64.min n 3)))"
    return f"({value(r, axes, depth - 1)} {r.choice(['+', '-', '*', '&'])} {value(r, axes, depth - 1)})"


def comparison(r, axes, rank):
    i = r.choice(axes)
    if r.random() < 0.1 and len(axes) == rank:
        return f"{read(r, axes)} > 0"
    limit = r.choice(["k", "k", "k", "k + 1", "n / 2", "2", *axes])
    return f"{i} {r.choice(['<', '<=', '>', '>=', '==', '!='])} {limit}"


def condition(r, axes, rank=None):
    """Of rows, which have fewer indices than the array, it asks nothing."""
    return f" {r.choice(['&&', '&&', '||'])} ".join(comparison(r, axes, rank or len(axes)) for _ in range(r.randint(1, 3)))


def kept(axes):
    return f"a[{', '.join(axes)}]"


def choice(r, axes):
    new, old = value(r, axes, 2), kept(axes)
    if r.random() < 0.3:
        old = f"(if {condition(r, axes)} then {value(r, axes, 1)} else {old})"
    sides = [new, old] if r.random() < 0.7 else [old, new]
    return f"if {condition(r, axes)} then {sides[0]} else {sides[1]}"


def changed(r, rank):
    if rank == 1:
        return f"tabulate n (\\i -> {choice(r, ['i'])})"
    if r.random() < 0.3:
        new = f"map (\\j -> {value(r, ['i', 'j'], 2)}) (iota n)"
        sides = [new, "a[i]"] if r.random() < 0.5 else ["a[i]", new]
        return f"map (\\i -> if {condition(r, ['i'], rank)} then {sides[0]} else {sides[1]}) (iota n)"
    return f"tabulate_2d n n (\\i j -> {choice(r, ['i', 'j'])})"


def part(r):
    """A slice and the numbers in it."""
    low, high = r.choice([("0", "n"), ("k", "n"), ("k", "n"), ("k + 1", "n"), ("0", "k"), ("1", "n"), ("0", "n - 1")])
    return f"{low}:{high}", f"({low}..<{high})"


def sliced(r, rank):
    """The array with another part, which is read before it is written."""
    (rows, of_rows), (columns, of_columns) = part(r), part(r)
    if rank == 1:
        return f"a with [{rows}] = map (\\i -> {value(r, ['i'], 2)}) {of_rows}"
    form = r.random()
    if form < 0.25:
        return f"let i = k in a with [i, {columns}] = map (\\j -> {value(r, ['i', 'j'], 2)}) {of_columns}"
    if form < 0.4:
        return f"let j = k in a with [{rows}, j] = map (\\i -> {value(r, ['i', 'j'], 2)}) {of_rows}"
    rows_of = f"map (\\j -> {value(r, ['i', 'j'], 2)}) {of_columns}"
    if form < 0.55:
        return f"loop a for i in {of_rows} do a with [i, {columns}] = {rows_of}"
    return f"a with [{rows}, {columns}] = map (\\i -> {rows_of}) {of_rows}"


def program(r, _workers=None):
    lines, entries = [], []
    for number in range(4):
        rank = r.choice([1, 2, 2, 2])
        name, dims = f"entry_{number}", "[n]" * rank
        lines += [f"-- entry: {name}"]
        for _ in range(3):
            n = r.choice([1, 2, 3, 5, 16, 17, 20, 33] if rank == 2 else [1, 2, 15, 16, 17, 33, 64, 100])
            shape = f"[{n}]" * rank
            lines += [f"-- random input {{ {r.choice([0, 1, 2, 5])}i64 {shape}i32 {shape}i32 }} auto output"]
        by_slices = r.random() < 0.5
        keeps = r.choice(["b", "b", "b" if by_slices else "a", changed(r, rank)])
        body = sliced(r, rank) if by_slices else changed(r, rank)
        entries += [f"entry {name} [n] (rounds: i64) (a: {r.choice(['', '*'])}{dims}i32) (b: {dims}i32) : ({dims}i32, {dims}i32) =",
                    f"  loop (a, b) = ({'copy ' if by_slices else ''}a, {'copy ' if keeps == 'a' else ''}b) for k < i64.min rounds n do",
                    f"    let kept = {keeps}",
                    f"    in ({body}, kept)"]
    return "-- Made by regions.py.\n-- ==\n" + "\n".join(lines) + "\n\n" + "\n".join(entries) + "\n"


if __name__ == "__main__":
    sys.exit(main(program))
