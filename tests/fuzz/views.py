#!/usr/bin/env python3
"""Random programs of matrices that are turned, cut, reversed, put into other rows and changed, one after the other.

usage: views.py FLC [--count N] [--seed S] [--workers N]

Each program is run by `flc test`, so in every version, on the device as in the interpreter.
"""
import sys

from as_tests import main

ENTRIES = 6
SHAPES = (2, 3), (3, 2), (4, 3), (3, 4), (2, 2), (6, 2), (1, 5), (17, 3), (3, 17)


def views(r, x, a, b):
    """What an [a][b]i32 is seen as, with its shape."""
    known = f"({x} :> [{a}][{b}]i32)"
    rows = r.choice([d for d in range(1, a * b + 1) if a * b % d == 0])
    yield f"(transpose {x})", b, a
    yield f"(reverse {x})", a, b
    yield f"(map reverse {x})", a, b
    yield f"(rotate ({r.randint(-2, 2)}) {x})", a, b
    yield f"{known}[::-1, :]", a, b
    yield f"({known}[::2, ::-1] :> [{(a + 1) // 2}][{b}]i32)", (a + 1) // 2, b
    yield f"(unflatten (flatten {x} :> [{rows} * {a * b // rows}]i32))", rows, a * b // rows
    if a > 1:
        yield f"(tail {known})", a - 1, b
    if b > 1:
        yield f"{known}[:, 1:]", a, b - 1


def changes(r, x, a, b):
    """New arrays of it."""
    known, i, j = f"({x} :> [{a}][{b}]i32)", r.randrange(a), r.randrange(b)
    yield f"(map (map (+ {r.randrange(5)})) {x})", a, b
    yield f"(scan (map2 (+)) (replicate {b} 0) {known})", a, b
    yield f"({x} ++ [replicate {b} {i}] :> [{a + 1}][{b}]i32)", a + 1, b
    yield f"(copy {known} with [{i}, {j}] = {r.randrange(50)})", a, b
    yield f"(copy {known} with [{i}] = replicate {b} 7)", a, b
    yield f"(copy {known} with [:, {j}] = map i32.i64 (iota {a}))", a, b


def steps(r, a, b):
    """The lines that make something of xs : [a][b]i32."""
    lines, x = [], "xs"
    for step in range(r.randint(3, 7)):
        x, a, b = r.choice(list((views if r.random() < 0.6 else changes)(r, x, a, b)))
        if r.random() < 0.4:
            lines.append(f"let v{step} = {x} :> [{a}][{b}]i32")
            x = f"v{step}"
    return lines + [f"in {r.choice((x, x, f'(map i32.sum {x}, {x})', f'({x}, xs)'))}"]


def entry(r, number):
    """Of a matrix, or of each of several."""
    a, b = r.choice(SHAPES)
    count = r.choice((0, 0, 2, 5))
    values = [[[r.randrange(100) for _ in range(b)] for _ in range(a)] for _ in range(count or 1)]
    lines = ["-- ==", f"-- entry: e{number}", f"-- input {{ {values if count else values[0]} }}"]
    body = [f"let xs = whole :> [{a}][{b}]i32"] + steps(r, a, b)
    if count:
        lines += [f"entry e{number} [k] [n] [m] (all: [k][n][m]i32) =", "  map (\\(whole: [n][m]i32) ->"]
        return "\n".join(lines + ["    " + line for line in body]) + ")\n    all"
    lines.append(f"entry e{number} [n] [m] (whole: [n][m]i32) =")
    return "\n".join(lines + ["  " + line for line in body])


def program(r, _workers):
    return "-- Made by views.py.\n\n" + "\n\n".join(entry(r, i) for i in range(ENTRIES)) + "\n"


if __name__ == "__main__":
    sys.exit(main(program))
