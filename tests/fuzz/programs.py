#!/usr/bin/env python3
"""Random well-typed programs: nests of SOACs over vectors and matrices of i32.

Arithmetic wraps and no generated expression can fail, so that every pass must leave the results
exactly as they are.  A type is a tuple of sizes: () is i32, ("n",) is [n]i32, ("n", "m") is
[n][m]i32.
"""
import random

from choices import Choices

SIZES = ("n", "m")
SCALAR_OPS = ("+", "-", "*", "^", "|", "&")
REDUCTIONS = (("(+)", "0"), ("i32.max", "i32.lowest"), ("i32.min", "i32.highest"), ("(^)", "0"))


class Generator(Choices):
    widths = (0, 1, 2, 3, 5)  # of the inputs
    expected = None  # the error that all inputs lead to
    may_fail = False  # whether an input does is what the interpreter tells

    def __init__(self, seed):
        super().__init__(random.Random(seed))

    def size(self):
        return self.pick(SIZES)

    def variable(self, scope, type_):
        names = [name for name, t in scope if t == type_]
        if not names:
            return None
        # Recent names more often: chains are what fusion works on.
        return names[-1] if self.random.random() < 0.4 else self.pick(names)

    def expression(self, scope, type_, depth):
        if depth <= 0 or self.random.random() < 0.15:
            found = self.variable(scope, type_)
            if found:
                return found
        if depth <= 0:
            return self.leaf(type_)
        makers = {0: self.scalars, 1: self.vectors, 2: self.matrices}[len(type_)]()
        return self.pick(makers)(scope, type_, depth - 1)

    def leaf(self, type_):
        text = str(self.random.randint(-3, 9))
        text = f"({text})" if text[0] == "-" else text
        for size in reversed(type_):
            text = f"(replicate {size} {text})"
        return text

    # ---- a lambda with parameters of the given types

    def function(self, scope, types, result, depth):
        names = [self.fresh("x") for _ in types]
        inner = scope + list(zip(names, types))
        lines = ""
        if depth > 0 and self.random.random() < 0.4:
            type_ = self.pick([(), (self.size(),)])
            name = self.fresh("t")
            lines = f"let {name} = {self.expression(inner, type_, depth - 1)} in "
            inner = inner + [(name, type_)]
        body = self.expression(inner, result, depth)
        params = " ".join(f"({name}: {type_text(type_)})" for name, type_ in zip(names, types))
        return f"(\\{params} -> {lines}{body})"

    # ---- scalars

    def scalars(self):
        return [self.operation, self.operation, self.conditional, self.reduction, self.reduction,
                self.element, self.loop, self.filtered]

    def operation(self, scope, _type, depth):
        a, b = (self.expression(scope, (), depth) for _ in range(2))
        return f"({a} {self.pick(SCALAR_OPS)} {b})"

    def conditional(self, scope, type_, depth):
        a, b = (self.expression(scope, (), depth - 1) for _ in range(2))
        first, second = (self.expression(scope, type_, depth) for _ in range(2))
        return f"(if {a} < {b} then {first} else {second})"

    def reduction(self, scope, _type, depth):
        op, neutral = self.pick(REDUCTIONS)
        array = self.expression(scope, (self.size(),), depth)
        return f"(reduce {op} {neutral} {array})"

    def filtered(self, scope, _type, depth):
        function = self.function(scope, [()], (), depth - 1)
        array = self.expression(scope, (self.size(),), depth)
        return f"(reduce (^) 0 (filter (\\x -> {function} x < 2) {array}))"

    def element(self, scope, _type, depth):
        size = self.size()
        array = self.expression(scope, (size,), depth)
        index = self.expression(scope, (), depth - 1)
        return f"(if {size} == 0 then 0 else {array}[i64.i32 {index} %% {size}])".replace("%%", "%")

    def loop(self, scope, type_, depth):
        name = self.fresh("p")
        start = self.expression(scope, type_, depth)
        inner = scope + [(name, type_)]
        body = self.expression(inner, type_, depth)
        times = self.pick(["2", "3", "(k & 3)"])
        if type_:
            body = f"copy {body}"
            start = f"copy {start}"
        return f"(loop ({name}: {type_text(type_)}) = {start} for _{name} < {times} do {body})"

    # ---- vectors

    def vectors(self):
        return [self.map1, self.map1, self.map2, self.map2, self.scan, self.scatter, self.hist,
                self.numbers, self.row_fold, self.permuted, self.column_sums, self.loop,
                self.conditional, self.updated]

    def map1(self, scope, type_, depth):
        array = self.expression(scope, (type_[0],), depth)
        return f"(map {self.function(scope, [()], type_[1:], depth)} {array})"

    def map2(self, scope, type_, depth):
        arrays = [self.expression(scope, (type_[0],), depth) for _ in range(2)]
        return f"(map2 {self.function(scope, [(), ()], type_[1:], depth)} {' '.join(arrays)})"

    def scan(self, scope, type_, depth):
        op, neutral = self.pick(REDUCTIONS)
        return f"(scan {op} {neutral} {self.expression(scope, type_, depth)})"

    def scatter(self, scope, type_, depth):
        size = type_[0]
        dest = self.expression(scope, type_, depth)
        values = self.expression(scope, type_, depth)
        return (f"(scatter (copy {dest}) (map (\\i -> (i + 1) %% 3) (iota {size})) "
                f"(map (\\_ -> 7) {values}))").replace("%%", "%")

    def hist(self, scope, type_, depth):
        size = self.size()
        bins = self.expression(scope, (size,), depth)
        values = self.expression(scope, (size,), depth)
        return (f"(hist (+) 0 {type_[0]} (map (\\i -> i64.i32 (i & 3)) {bins}) {values})")

    def numbers(self, scope, type_, depth):
        function = self.function(scope, [()], (), depth)
        return f"(map (\\i -> {function} (i32.i64 i)) (iota {type_[0]}))"

    def row_fold(self, scope, type_, depth):
        other = self.size()
        matrix = self.expression(scope, (type_[0], other), depth)
        return f"(map {self.function(scope, [(other,)], (), depth)} {matrix})"

    def column_sums(self, scope, type_, depth):
        matrix = self.expression(scope, (self.size(), type_[0]), depth)
        return f"(reduce (map2 (+)) (replicate {type_[0]} 0) {matrix})"

    def permuted(self, scope, type_, depth):
        array = self.expression(scope, type_, depth)
        return self.pick([f"(reverse {array})", f"(rotate 1 {array})"])

    def updated(self, scope, type_, depth):
        name = self.fresh("u")
        array = self.expression(scope, type_, depth)
        value = self.expression(scope, (), depth)
        size = type_[0]
        return (f"(let {name} = copy {array} in if {size} == 0 then {name} "
                f"else {name} with [{size} / 2] = {value})")

    # ---- matrices

    def matrices(self):
        return [self.map1, self.map2, self.rows, self.rows, self.rows, self.transposed,
                self.loop, self.conditional]

    def rows(self, scope, type_, depth):
        other = self.size()
        matrix = self.expression(scope, (type_[0], other), depth)
        return f"(map {self.function(scope, [(other,)], type_[1:], depth)} {matrix})"

    def transposed(self, scope, type_, depth):
        return f"(transpose {self.expression(scope, type_[::-1], depth)})"

    # ---- programs

    def program(self):
        scope = [("k", ()), ("xs", ("n",)), ("ys", ("m",)), ("xss", ("n", "m"))]
        lets = []
        for _ in range(self.random.randint(2, 6)):
            type_ = self.pick([(), ("n",), ("n",), ("m",), ("n", "m"), ("m", "n")])
            name = self.fresh("v")
            lets.append((name, type_, self.expression(scope, type_, self.random.randint(1, 3))))
            scope = scope + [(name, type_)]
        made = scope[4:]
        results = self.random.sample(made, self.random.randint(1, min(3, len(made))))
        return lets, results

    def text(self, lets, results):
        return program_text(lets, results)

    def definitions(self):
        """What stands before the entry point."""
        return ""

    def input(self):
        n, m = (self.pick(self.widths) for _ in SIZES)
        return " ".join([array_text(self.random, (n,)), array_text(self.random, (m,)),
                         array_text(self.random, (n, m)), f"{self.random.randint(-5, 5)}i32"])


class NestGenerator(Generator):
    """Nests rather than chains: parallelism within maps, loops and conditionals within them, and
    what flattening cannot distribute (widths, trip counts and conditions that vary)."""

    def __init__(self, seed, depth=4):
        super().__init__(seed)
        self.depth = depth

    def scalars(self):
        return [self.operation, self.conditional, self.condition_outside, self.reduction,
                self.reduction, self.folded_map, self.folded_map, self.element, self.loop,
                self.irregular, self.two_sums, self.filtered, self.varying_loop, self.chosen]

    def vectors(self):
        return [self.map1, self.map1, self.map2, self.row_fold, self.row_fold, self.row_fold,
                self.scan, self.scanned_map, self.scatter, self.hist, self.numbers, self.permuted,
                self.column_sums, self.column_scan, self.loop, self.loop, self.conditional,
                self.condition_outside, self.updated, self.joined, self.chosen, self.sliced]

    def matrices(self):
        return [self.map1, self.map2, self.rows, self.rows, self.rows, self.rows, self.cubes,
                self.transposed, self.loop, self.conditional, self.condition_outside,
                self.chosen, self.column_scan, self.row_update]

    def condition_outside(self, scope, type_, depth):
        """A condition that is the same at every point of the nest."""
        first, second = (self.expression(scope, type_, depth) for _ in range(2))
        return f"(if k < {self.random.randint(-3, 3)} then {first} else {second})"

    def chosen(self, scope, type_, depth):
        # Equal values by construction: a version is free to take either.
        value = self.expression(scope, type_, depth)
        return f"(choose {value} {value})"

    def folded_map(self, scope, _type, depth):
        op, neutral = self.pick(REDUCTIONS)
        size, inner = self.size(), self.size()
        matrix = self.expression(scope, (size, inner), depth - 1)
        return (f"(reduce {op} {neutral} (map {self.function(scope, [(inner,)], (), depth)} "
                f"{matrix}))")

    def scanned_map(self, scope, type_, depth):
        op, neutral = self.pick(REDUCTIONS)
        inner = self.size()
        matrix = self.expression(scope, (type_[0], inner), depth - 1)
        return (f"(scan {op} {neutral} (map {self.function(scope, [(inner,)], (), depth)} "
                f"{matrix}))")

    def two_sums(self, scope, _type, depth):
        array = self.expression(scope, (self.size(),), depth)
        a, b = self.fresh("a"), self.fresh("b")
        return (f"(let ({a}, {b}) = reduce (\\(x, y) (z, w) -> (x + z, i32.max y w)) "
                f"(0, i32.lowest) (map (\\x -> (x, x ^ k)) {array}) in {a} ^ {b})")

    def irregular(self, scope, _type, depth):
        """The width depends on the point."""
        count = self.expression(scope, (), depth - 1)
        function = self.function(scope, [()], (), depth - 1)
        return f"(i32.sum (map (\\i -> {function} (i32.i64 i)) (iota (i64.i32 ({count} & 3)))))"

    def varying_loop(self, scope, _type, depth):
        """The trip count, or the end of a while loop, depends on the point."""
        name = self.fresh("p")
        count = self.expression(scope, (), depth - 1)
        body = self.expression(scope + [(name, ())], (), depth - 1)
        if self.random.random() < 0.5:
            return f"(loop {name} = {count} for _{name} < ({count} & 3) do {body})"
        return (f"((loop ({name}, i_{name}) = ({count}, 0i32) while i_{name} < 3 && {name} < 50 do "
                f"({body}, i_{name} + 1)).0)")

    def joined(self, scope, type_, depth):
        array = self.expression(scope, type_, depth)
        size = type_[0]
        return f"(let a = {array} in (a[{size} / 2:] ++ a[:{size} / 2]) :> {type_text(type_)})"

    def sliced(self, scope, type_, depth):
        array = self.expression(scope, (type_[0],), depth)
        return f"(({array})[::-1] :> {type_text(type_)})"

    def column_scan(self, scope, type_, depth):
        if len(type_) == 1:
            return self.scan(scope, type_, depth)
        matrix = self.expression(scope, type_, depth)
        return f"(scan (map2 (+)) (replicate {type_[1]} 0) {matrix})"

    def row_update(self, scope, type_, depth):
        name = self.fresh("u")
        array = self.expression(scope, type_, depth)
        row = self.expression(scope, type_[1:], depth)
        return (f"(let {name} = copy {array} in if {type_[0]} == 0 then {name} "
                f"else {name} with [{type_[0]} / 2] = {row})")

    def cubes(self, scope, type_, depth):
        """A nest of three maps around a reduction, over a matrix made for each row."""
        inner = self.size()
        row, other = self.fresh("r"), self.fresh("c")
        scope2 = scope + [(row, (type_[1],)), (other, (inner,))]
        matrix = self.expression(scope, (type_[0], type_[1]), depth - 1)
        square = self.expression(scope + [(row, (type_[1],))], (type_[1], inner), depth - 1)
        return (f"(map (\\({row}: {type_text(type_[1:])}) -> map (\\({other}: [{inner}]i32) -> "
                f"{self.expression(scope2, (), depth)}) {square}) {matrix})")

    def program(self):
        scope = [("k", ()), ("xs", ("n",)), ("ys", ("m",)), ("xss", ("n", "m"))]
        lets = []
        for _ in range(self.random.randint(1, 2)):
            type_ = self.pick([(), ("n",), ("n",), ("m",), ("n", "m"), ("m", "n"), ("n", "m")])
            name = self.fresh("v")
            lets.append((name, type_, self.expression(scope, type_, self.depth)))
            scope = scope + [(name, type_)]
        return lets, [(name, type_) for name, type_, _ in lets]


def array_text(rng, shape):
    if 0 in shape:
        return "empty(" + "".join(f"[{d}]" for d in shape) + "i32)"
    if not shape:
        return f"{rng.randint(-9, 9)}i32"
    return "[" + ", ".join(array_text(rng, shape[1:]) for _ in range(shape[0])) + "]"


def type_text(type_):
    return "".join(f"[{size}]" for size in type_) + "i32"


def entry_text(params, lets, results):
    """The entry point; types as they are written."""
    names, types = (", ".join(parts) for parts in zip(*results))
    if len(results) != 1:
        names, types = f"({names})", f"({types})"
    lines = [f"entry main [n] [m] {params} : {types} ="]
    lines += [f"  let {name} : {type_} = {exp}" for name, type_, exp in lets]
    return "\n".join(lines + [f"  in {names}"]) + "\n"


def program_text(lets, results):
    return entry_text("(xs: [n]i32) (ys: [m]i32) (xss: [n][m]i32) (k: i32)",
                      [(name, type_text(type_), exp) for name, type_, exp in lets],
                      [(name, type_text(type_)) for name, type_ in results])
