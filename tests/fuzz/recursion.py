#!/usr/bin/env python3
"""Random functions that call themselves, on numbers, pairs and arrays of changing length, in branches, loops and maps; their
results are computed in Python, as the interpreter gets them as loops with a stack, too.

recursion.py FLC [--count N] [--seed S] [--workers N]
"""
import sys

from as_tests import main
from choices import Choices

P = 10007
CALLS = 3000  # in one evaluation, at most
LONGEST = 40  # arrays


class TooMuch(Exception):
    pass


class Two:
    """The same expression in Fl and in Python."""

    def __init__(self, fl, py):
        self.fl, self.py = fl, py


def fold(n, init, body):
    value = init
    for i in range(n):
        value = body(value, i)
    return value


class Generator(Choices):
    def __init__(self, r, kind):
        super().__init__(r)
        self.kind, self.calls_left = kind, 4

    # ---- numbers; `scope` holds those that have names, `arrays` the arrays

    def atom(self, scope):
        name = self.random.choice(scope + [str(self.random.randint(0, 9))])
        return Two(name, name)

    def operation(self, scope, arrays, depth):
        a, b = self.number(scope, arrays, depth - 1), self.number(scope, arrays, depth - 1)
        op = self.random.choice(["+", "-", "*"])
        return Two(f"(({a.fl} {op} {b.fl}) % {P})", f"(({a.py} {op} {b.py}) % {P})")

    def condition(self, scope, arrays, depth):
        a = self.number(scope, arrays, depth - 1)
        m = self.random.choice([2, 3, 5])
        return Two(f"{a.fl} % {m} == 0", f"{a.py} % {m} == 0")

    def branch(self, scope, arrays, depth):
        c = self.condition(scope, arrays, depth)
        a, b = self.number(scope, arrays, depth - 1), self.number(scope, arrays, depth - 1)
        return Two(f"(if {c.fl} then {a.fl} else {b.fl})", f"({a.py} if {c.py} else {b.py})")

    def named(self, scope, arrays, depth):
        name, a = self.fresh("t"), self.number(scope, arrays, depth - 1)
        b = self.number(scope + [name], arrays, depth - 1)
        return Two(f"(let {name} = {a.fl} in {b.fl})", f"(lambda {name}: {b.py})({a.py})")

    def rounds(self, scope, arrays, depth):
        v, i, n = self.fresh("v"), self.fresh("i"), self.random.choice(["2", "3", "n", "(n % 3)"])
        a, b = self.number(scope, arrays, depth - 1), self.number(scope + [v, i], arrays, depth - 1)
        return Two(f"(loop {v} = {a.fl} for {i} < {n} do {b.fl})", f"fold({n}, {a.py}, lambda {v}, {i}: {b.py})")

    def summed(self, scope, arrays, depth):
        i, n = self.fresh("i"), self.random.choice(["2", "(i64.max 0 n)", "(n % 2 + 1)"])
        a = self.number(scope + [i], arrays, depth - 1)
        return Two(f"(i64.sum (map (\\{i} -> {a.fl}) (iota {n})))", f"sum([{a.py} for {i} in range({n.replace('i64.max 0 n', 'n')})])")

    def element(self, scope, arrays, depth):
        xs, a = self.array(scope, arrays, depth - 1), self.number(scope, arrays, depth - 1)
        ys = self.fresh("ys")
        return Two(f"(let {ys} = {xs.fl} in if null {ys} then 0 else {ys}[{a.fl} % length {ys}])",
                   f"(lambda {ys}: 0 if not {ys} else {ys}[{a.py} % len({ys})])({xs.py})")

    def call(self, scope, arrays, depth):
        """A number of what the function gives."""
        result = self.own_call(scope, arrays, depth)
        if self.kind == "pair":
            a, b = self.fresh("a"), self.fresh("b")
            c = self.number(scope + [a, b], arrays, depth - 1)
            return Two(f"(let ({a}, {b}) = {result.fl} in {c.fl})", f"(lambda {a}, {b}: {c.py})(*{result.py})")
        if self.kind == "array":
            return Two(f"(i64.sum {result.fl})", f"sum({result.py})")
        return result

    def own_call(self, scope, arrays, depth):
        """Of something smaller, so that it ends."""
        self.calls_left -= 1
        less = self.random.choice(["n - 1", "n - 1", "n - 2", "n / 2"])
        if self.kind == "array":
            x = self.array(scope, arrays, depth - 1)
        else:
            x = self.number(scope, arrays, depth - 1)
        return Two(f"(f ({less}) {x.fl})", f"f({less.replace('/', '//')}, {x.py})")

    def number(self, scope, arrays, depth):
        if depth <= 0:
            return self.atom(scope)
        kinds = [self.atom, self.operation, self.operation, self.branch, self.named, self.rounds, self.summed]
        if arrays:
            kinds.append(self.element)
        if self.calls_left > 0:
            kinds += [self.call, self.call, self.call]
        chosen = self.random.choice(kinds)
        return chosen(scope) if chosen == self.atom else chosen(scope, arrays, depth)

    # ---- arrays

    def array(self, scope, arrays, depth):
        if depth <= 0:
            xs = self.random.choice(arrays)
            return Two(xs, xs)
        kind = self.random.randint(0, 6)
        if kind == 0 and self.calls_left > 0:
            return self.own_call(scope, arrays, depth)
        xs = self.array(scope, arrays, depth - 1)
        if kind <= 2:
            x = self.fresh("x")
            a = self.number(scope + [x], arrays, depth - 1)
            return Two(f"(map (\\{x} -> {a.fl}) {xs.fl})", f"[{a.py} for {x} in {xs.py}]")
        if kind == 3:
            return Two(f"(let zs = {xs.fl} in zs[:length zs / 2])", f"(lambda zs: zs[:len(zs) // 2])({xs.py})")
        if kind == 4:
            ys = self.array(scope, arrays, depth - 1)
            return Two(f"({xs.fl} ++ {ys.fl})", f"joined({xs.py}, {ys.py})")
        if kind == 5:
            x = self.fresh("x")
            return Two(f"(filter (\\{x} -> {x} % 3 != 0) {xs.fl})", f"[{x} for {x} in {xs.py} if {x} % 3 != 0]")
        c, ys = self.condition(scope, arrays, depth - 1), self.array(scope, arrays, depth - 1)
        return Two(f"(if {c.fl} then {xs.fl} else {ys.fl})", f"({xs.py} if {c.py} else {ys.py})")

    # ---- the function

    def body(self):
        depth, parts = 3, 2 if self.kind == "pair" else 1
        self.calls_left, calls = 0, self.calls_left  # none where it ends
        if self.kind == "array":
            base = self.array(["n"], ["xs"], 1)
            self.calls_left = calls
            rest = self.array(["n"], ["xs"], depth + 1)
        else:
            base = self.tuple([self.number(["n", "x"], [], 2) for _ in range(parts)])
            self.calls_left = calls
            rest = self.tuple([self.number(["n", "x"], [], depth) for _ in range(parts)])
        return Two(f"if n <= 0 then {base.fl} else {rest.fl}", f"{base.py} if n <= 0 else {rest.py}")

    def tuple(self, parts):
        if len(parts) == 1:
            return parts[0]
        return Two("(" + ", ".join(p.fl for p in parts) + ")", "(" + ", ".join(p.py for p in parts) + ")")


def evaluate(body, kind, n, x):
    calls = 0

    def joined(xs, ys):
        if len(xs) + len(ys) > LONGEST:
            raise TooMuch
        return xs + ys

    def f(n, x):
        nonlocal calls
        calls += 1
        if calls > CALLS:
            raise TooMuch
        argument = "xs" if kind == "array" else "x"
        return eval(compiled, {"n": n, argument: x, "f": f, "fold": fold, "joined": joined})  # pylint: disable=eval-used

    compiled = compile(body.py, "random", "eval")
    return f(n, x)


def values(xs):
    return "[" + ", ".join(f"{x}i64" for x in xs) + "]" if xs else "empty([0]i64)"


def fits(x):
    numbers = x if isinstance(x, (list, tuple)) else [x]
    return all(abs(v) < 2**62 for v in numbers)


def cases(r, body, kind):
    """Inputs and outcomes, or None if some take too long."""
    found = []
    for n in [0, 1, 2, r.randint(3, 4)]:
        x = [r.randint(-20, 100) for _ in range(r.choice([0, 1, 5, 8]))] if kind == "array" else r.randint(-50, 50)
        try:
            result = evaluate(body, kind, n, x)
        except TooMuch:
            return None
        if not fits(result):
            return None
        found.append((n, x, result))
    return found


HEADS = {
    "number": "def f (n: i64) (x: i64) : i64 =",
    "pair": "def f (n: i64) (x: i64) : (i64, i64) =",
    "array": "def f (n: i64) (xs: []i64) : []i64 =",
}


def tests_of_numbers(found, kind):
    lines = ["-- entry: one"]
    for n, x, result in found:
        out = f"{result}i64" if kind == "number" else " ".join(f"{v}i64" for v in result)
        lines.append(f"-- input {{ {n}i64 {x}i64 }} output {{ {out} }}")
    columns = [[c[2]] if kind == "number" else c[2] for c in found]
    outs = " ".join(values([c[k] for c in columns]) for k in range(len(columns[0])))
    lines.append("-- entry: each")
    lines.append(f"-- input {{ {values([c[0] for c in found])} {values([c[1] for c in found])} }} output {{ {outs} }}")
    types = ("i64", "[n]i64") if kind == "number" else ("(i64, i64)", "([n]i64, [n]i64)")
    unzip = "" if kind == "number" else "unzip "
    entries = [f"entry one (n: i64) (x: i64) : {types[0]} = f n x",
               f"entry each [n] (ns: [n]i64) (xs: [n]i64) : {types[1]} = {unzip}{'(' if unzip else ''}map2 f ns xs{')' if unzip else ''}"]
    return lines, entries


def tests_of_arrays(found, base):
    """base: what the last of the arrays gives with n = 0."""
    lines = ["-- entry: one"]
    for n, xs, result in found:
        lines.append(f"-- input {{ {n}i64 {values(xs)} }} output {{ {values(result)} }}")
    n, xs, result = found[-1]
    sums = values([sum(result), sum(base), sum(result)])
    lines += ["-- entry: each", f"-- input {{ {values([n, 0, n])} {values(xs)} }} output {{ {sums} }}"]
    entries = ["entry one (n: i64) (xs: []i64) : []i64 = f n xs",
               "entry each (ns: []i64) (xs: []i64) : []i64 = map (\\n -> i64.sum (f n xs)) ns"]
    return lines, entries


def program(r, _workers=None):
    while True:
        kind = r.choice(["number", "number", "pair", "array"])
        body = Generator(r, kind).body()
        if "f (" not in body.fl:
            continue
        found = cases(r, body, kind)
        if not found:
            continue
        if kind == "array":
            lines, entries = tests_of_arrays(found, evaluate(body, kind, 0, found[-1][1]))
        else:
            lines, entries = tests_of_numbers(found, kind)
        return "\n".join(["-- Made by recursion.py.", "-- ==", *lines, "", HEADS[kind], f"  {body.fl}", "", *entries, ""])


if __name__ == "__main__":
    sys.exit(main(program))
