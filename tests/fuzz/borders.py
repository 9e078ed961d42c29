#!/usr/bin/env python3
"""Random stencils: indices that are clamped, wrapped, padded and checked, on sizes around those of blocks.

usage: borders.py FLC [--count N] [--seed S] [--workers N]

Each program is run by `flc test`, so in every version, on the device as in the interpreter.  With --workers, by so
many of them, in three rounds, of which each reads what the one before has made.
"""
import sys

from as_tests import main


def offset(r):
    return r.choice(["", " + 1", " - 1", f" + {r.randint(2, 20)}", f" - {r.randint(2, 20)}"])


ENDS = ("if I == 0 then N - 1 else I - 1", "if I < N - 1 then I + 1 else 0", "if I > 0 then I - 1 else 0", "if I + 1 == N then I else I + 1",
        "if N - 1 <= I then N - 1 else I + 1", "if I <= 0 then I else I - 1", "if I >= N - 1 then 0 else I + 1", "if I != 0 then I - 1 else N - 1")


def index(r, i, n):
    """An index into n elements that is never out of bounds."""
    if i.isalpha() and r.random() < 0.2:
        return "(" + r.choice(ENDS).replace("I", i).replace("N", n) + ")"
    at = r.choice([f"({i}{offset(r)})", f"(2 * {i}{offset(r)})", f"({n} - 1 - {i})", f"({i} / 2{offset(r)})",
                   f"({i} * {i})"] + 4 * [f"({i}{offset(r)})"])
    return r.choice([f"i64.max 0 (i64.min ({n} - 1) {at})", f"i64.min ({n} - 1) (i64.max 0 {at})",
                     f"({at} % {n})", f"(({at} + {n}) % {n})"])


def condition(r, i, n):
    limit = r.choice([n, f"({n} - 1)", f"({n} / 2)", "k", str(r.randint(0, 40))])
    return f"{i}{offset(r)} {r.choice(['<', '<=', '>', '>=', '==', '!='])} {limit}"


def value(r, axes, depth):
    if depth == 0 or r.random() < 0.2:
        return "xs[" + ", ".join(index(r, i, n) for i, n in axes) + "]"
    kind = r.randint(0, 5)
    i, n = r.choice(axes)
    if kind == 0:
        joined = r.choice(["&&", "||"]).join(f" {condition(r, *r.choice(axes))} " for _ in range(r.randint(1, 3)))
        return f"(if{joined}then {value(r, axes, depth - 1)} else {value(r, axes, depth - 1)})"
    if kind == 1 and len(axes) == 1:
        return (f"(let at = {i}{offset(r)} in if at >= 0 && at < {n} then xs[at] else {value(r, axes, depth - 1)})")
    if kind == 2 and depth > 1:
        last, width = axes[-1]
        inner = value(r, axes[:-1] + [(f"({last} + d)", width)], 0)
        return f"(i32.sum (map (\\d -> {inner}) (iota {r.randint(1, 4)})))"
    return f"({value(r, axes, depth - 1)} {r.choice(['+', '-', '*'])} {value(r, axes, depth - 1)})"


def program(r, workers=None):
    lines, entries = [], []
    for number in range(4):
        plane = r.random() < 0.3
        name = f"entry_{number}"
        lines += [f"-- entry: {name}"]
        for _ in range(4):
            n = r.choice([1, 2, 15, 16, 17, 31, 32, 33, 63, 64, 65, 100, 128, 200])
            k = r.choice([-3, 0, 1, 5, 40, 9223372036854775807, -9223372036854775808])
            shape = f"[{r.choice([1, 3, 4, 5, 9])}][{n}]" if plane else f"[{n}]"
            lines += [f"-- random input {{ {k}i64 {shape}i32 }} auto output"]
        axes = [("i", "n"), ("j", "m")] if plane else [("i", "n")]
        body = value(r, axes, 3)
        entries += [f"entry {name} [n] [m] (k: i64) (xs: [n][m]i32) : [n][m]i32 = tabulate_2d n m (\\i j -> {body} + i32.i64 (k % 7))"
                    if plane else
                    f"entry {name} [n] (k: i64) (xs: [n]i32) : [n]i32 = tabulate n (\\i -> {body} + i32.i64 (k % 7))"]
    text = "-- Made by borders.py.\n-- ==\n" + "\n".join(lines) + "\n\n" + "\n".join(entries) + "\n"
    return text.replace("= tabulate", "= loop xs for _r < 3 do tabulate") if workers else text


if __name__ == "__main__":
    sys.exit(main(program))
