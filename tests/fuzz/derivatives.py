#!/usr/bin/env python3
"""Random smooth functions of f64: forward mode against central differences, reverse against forward.

    derivatives.py FLC COUNT [SEED]      COUNT programs from SEED on; prints those that disagree
    derivatives.py --idioms FLC COUNT [SEED]     the same, of what people write, of any size (idioms/smooth.py)
    derivatives.py --changing FLC COUNT [SEED]   the same, with arrays that change in loops (idioms/changing.py)
    derivatives.py --ties FLC COUNT [SEED]       those where equal values meet (idioms/ties.py), without differences
    derivatives.py --places FLC COUNT [SEED]     of sums that read at computed places (idioms/places.py)
    derivatives.py --parts FLC COUNT [SEED]      of functions that call each other (idioms/parts.py)
    derivatives.py --print SEED          the program of that seed

A program takes a scalar, a vector and a matrix, and computes one number.  What it prints is its
derivative in one direction four times: by differences, by jvp, by vjp, and twice more as the second
derivative in that direction (vjp of jvp, jvp of vjp).
"""
import math
import random
import subprocess
import sys
import tempfile

from choices import Choices
from idioms.changing import ChangingGenerator
from idioms.parts import SmoothPartsGenerator
from idioms.places import PlacesGenerator
from idioms.smooth import SmoothGenerator
from idioms.ties import TiesGenerator

OPERATORS = (("(+)", "0"), ("(*)", "1"), ("f64.max", "f64.lowest"), ("f64.min", "f64.highest"),
             ("(\\a b -> a + b + a * b)", "0"))


class Generator(Choices):
    def __init__(self, seed):
        super().__init__(random.Random(seed))
        self.size = 3 if seed % 3 else 5  # rows of 3 become numbers

    def known(self, scope, kind):
        return [name for name, k in scope if k == kind]

    # ---- numbers

    def number(self, scope, depth):
        if depth <= 0 or self.random.random() < 0.1:
            names = self.known(scope, "x")
            if names and self.random.random() < 0.8:
                return self.pick(names)
            return f"{self.random.uniform(0.2, 1.5):.3f}"
        return self.pick([self.arithmetic, self.arithmetic, self.function, self.element, self.element,
                          self.total, self.total, self.condition, self.number_loop, self.sum_loop, self.pair,
                          self.let, self.filtered, self.while_loop])(scope, depth - 1)

    def arithmetic(self, scope, depth):
        a, b = self.number(scope, depth), self.number(scope, depth)
        return self.pick([f"({a} + {b})", f"({a} - {b})", f"({a} * {b})", f"({a} / (2 + {b} * {b}))",
                          f"(f64.max {a} {b})", f"(f64.min {a} {b})"])

    def function(self, scope, depth):
        a = self.number(scope, depth)
        return self.pick([f"f64.sin {a}", f"f64.cos {a}", f"f64.tanh {a}", f"f64.atan {a}",
                          f"f64.sqrt (1 + {a} * {a})", f"f64.exp (f64.sin {a})", f"f64.log (1.5 + f64.cos {a})",
                          f"f64.lgamma (1.1 + {a} * {a})", f"f64.abs {a}", f"((1 + f64.abs {a}) ** 1.5)"]).join("()")

    def index(self, scope):
        names = self.known(scope, "i")
        if names and self.random.random() < 0.8:
            i = self.pick(names)
            return self.pick([i, f"({i} + 1) % {self.size}", f"{self.size - 1} - {i}", f"({i} * 2) % {self.size}"])
        return str(self.random.randrange(self.size))

    def element(self, scope, depth):
        vectors, matrices = self.known(scope, "v"), self.known(scope, "m")
        if matrices and self.random.random() < 0.4:
            return f"{self.pick(matrices)}[{self.index(scope)}, {self.index(scope)}]"
        if vectors and self.random.random() < 0.8:
            return f"{self.pick(vectors)}[{self.index(scope)}]"
        return f"(({self.vector(scope, depth)})[{self.index(scope)}])"

    def total(self, scope, depth):
        v = self.vector(scope, depth)
        op, neutral = self.pick(OPERATORS)
        return self.pick([f"(f64.sum ({v}))", f"(reduce {op} {neutral} ({v}))",
                          f"(f64.sum (map f64.sum ({self.matrix(scope, depth)})))"])

    def condition(self, scope, depth):
        c, a, b = (self.number(scope, depth) for _ in range(3))
        return f"(if {c} > {self.random.uniform(-1, 1):.3f} then {a} else {b})"

    def strips(self):
        return self.pick(["", "", "#[stripmine(1)] ", "#[stripmine(2)] "])

    def sum_loop(self, scope, depth):
        x, y, i = self.fresh("x"), self.fresh("x"), self.fresh("i")
        inner = scope + [(i, "i")] * 2
        count = self.pick([str(self.size), "2", "-1"] + self.known(scope, "i"))
        a, b, c, d = (self.number(s, depth) for s in (scope, inner, inner, inner))
        rounds = self.pick([f"({x} + {b}, f64.max {y} ({c}))", f"({b} + {x} - {c}, {y} - {d})", f"(f64.min ({b}) {x}, {c} + {y})"])
        return f"(let ({x}, {y}) = loop ({x}, {y}) = ({a}, 0.3) for {i} < {count} do {rounds} in {x} * 0.5 + {y})"

    def number_loop(self, scope, depth):
        x, i = self.fresh("x"), self.fresh("i")
        inner = scope + [(x, "x"), (i, "i")]
        count = self.pick([str(self.size)] + self.known(scope, "i"))
        return (f"({self.strips()}loop {x} = {self.number(scope, depth)} for {i} < {count} do "
                f"f64.sin ({self.number(inner, depth)}) + {x})")

    def while_loop(self, scope, depth):
        x, i = self.fresh("x"), self.fresh("c")
        inner = scope + [(x, "x")]
        return (f"({self.strips()}loop ({x}, {i}) = ({self.number(scope, depth)}, 0i32) while {i} < 3 && {x} < 20 do "
                f"({x} * 1.1 + f64.cos ({self.number(inner, depth)}), {i} + 1)).0")

    def pair(self, scope, depth):
        a, b = self.vector(scope, depth), self.vector(scope, depth)
        return (f"(let (p, q) = reduce (\\(a, b) (c, d) -> (a + c * b, b * d)) (0, 1) (zip ({a}) "
                f"(map f64.cos ({b}))) in p + q)")

    def let(self, scope, depth):
        kind = self.pick("xvvmm")
        name = self.fresh(kind)
        value = {"x": self.number, "v": self.vector, "m": self.matrix}[kind](scope, depth)
        return f"(let {name} = {value} in {self.number(scope + [(name, kind)] * 3, depth)})"

    def filtered(self, scope, depth):
        x = self.fresh("x")
        return (f"(f64.sum (map (\\{x} -> {self.number(scope + [(x, 'x')], depth)}) "
                f"(filter (> {self.random.uniform(-1, 1):.3f}) ({self.vector(scope, depth)}))))")

    # ---- vectors

    def vector(self, scope, depth):
        names = self.known(scope, "v")
        if names and (depth <= 0 or self.random.random() < 0.2):
            return self.pick(names)
        if depth <= 0:
            return f"replicate {self.size} {self.number(scope, 0)}".join("()")
        return self.pick([self.mapped, self.mapped, self.tabulated, self.tabulated, self.scanned, self.moved,
                          self.updated, self.loop_over, self.scattered, self.histogram, self.row,
                          self.rows, self.chosen])(scope, depth - 1).join("()")

    def mapped(self, scope, depth):
        x, y = self.fresh("x"), self.fresh("y")
        body = self.number(scope + [(x, "x"), (y, "x")], depth)
        return f"map2 (\\{x} {y} -> {body}) ({self.vector(scope, depth)}) ({self.vector(scope, depth)})"

    def tabulated(self, scope, depth):
        i = self.fresh("i")
        return f"tabulate {self.size} (\\{i} -> {self.number(scope + [(i, 'i')], depth)})"

    def scanned(self, scope, depth):
        op, neutral = self.pick(OPERATORS)
        return f"scan {op} {neutral} ({self.vector(scope, depth)})"

    def moved(self, scope, depth):
        a, b = self.vector(scope, depth), self.vector(scope, depth)
        k = self.random.randrange(self.size + 1)
        return self.pick([f"reverse ({a})", f"rotate {k} ({a})", f"(take {k} ({a}) ++ drop {k} ({b})) :> [{self.size}]f64",
                          f"({a})[::-1] :> [{self.size}]f64", f"copy ({a})"])

    def updated(self, scope, depth):
        return f"copy ({self.vector(scope, depth)}) with [{self.index(scope)}] = {self.number(scope, depth)}"

    def loop_over(self, scope, depth):
        v, i = self.fresh("v"), self.fresh("i")
        inner = scope + [(v, "v"), (i, "i")]
        where = self.pick([i, self.index(inner)])
        return (f"{self.strips()}loop {v} = copy ({self.vector(scope, depth)}) for {i} < {self.size} do "
                f"copy {v} with [{where}] = f64.sin ({self.number(inner, depth)}) + {v}[{where}]")

    def scattered(self, scope, depth):
        places = self.random.sample(range(self.size + 1), self.size)
        return f"scatter (copy ({self.vector(scope, depth)})) [{', '.join(map(str, places))}] ({self.vector(scope, depth)})"

    def histogram(self, scope, depth):
        op, neutral = self.pick(OPERATORS)
        bins = [str(self.random.randrange(-1, self.size)) for _ in range(self.size)]
        return (f"reduce_by_index (copy ({self.vector(scope, depth)})) {op} {neutral} [{', '.join(bins)}] "
                f"({self.vector(scope, depth)})")

    def row(self, scope, depth):
        return f"({self.matrix(scope, depth)})[{self.index(scope)}]"

    def rows(self, scope, depth):
        v, m = self.fresh("v"), self.matrix(scope, depth)
        ops = ("(+)", "0"), ("(*)", "1"), ("f64.max", "f64.lowest")
        op, neutral = self.pick(ops)
        return self.pick([f"map (\\{v} -> {self.number(scope + [(v, 'v')], depth)}) ({m})",
                          f"reduce (map2 {op}) (replicate {self.size} {neutral}) ({m})"])

    def chosen(self, scope, depth):
        c = self.number(scope, depth)
        return f"if {c} > 0.4 then {self.vector(scope, depth)} else {self.vector(scope, depth)}"

    # ---- matrices

    def matrix(self, scope, depth):
        names = self.known(scope, "m")
        if names and (depth <= 0 or self.random.random() < 0.3):
            return self.pick(names)
        if depth <= 0:
            return f"(replicate {self.size} ({self.vector(scope, 0)}))"
        return self.pick([self.each_row, self.each_row, self.table, self.transposed, self.set_row,
                          self.scan_rows, self.matrix_loop])(scope, depth - 1).join("()")

    def each_row(self, scope, depth):
        v = self.fresh("v")
        return f"map (\\{v} -> {self.vector(scope + [(v, 'v')], depth)}) ({self.matrix(scope, depth)})"

    def table(self, scope, depth):
        i, j = self.fresh("i"), self.fresh("i")
        return f"tabulate_2d {self.size} {self.size} (\\{i} {j} -> {self.number(scope + [(i, 'i'), (j, 'i')], depth)})"

    def transposed(self, scope, depth):
        m = self.matrix(scope, depth)
        return self.pick([f"transpose ({m})", f"unflatten (reverse (flatten ({m})) :> [{self.size} * {self.size}]f64)"])

    def set_row(self, scope, depth):
        return f"copy ({self.matrix(scope, depth)}) with [{self.index(scope)}] = {self.vector(scope, depth)}"

    def scan_rows(self, scope, depth):
        return f"scan (map2 (+)) (replicate {self.size} 0) ({self.matrix(scope, depth)})"

    def matrix_loop(self, scope, depth):
        m, i = self.fresh("m"), self.fresh("i")
        inner = scope + [(m, "m"), (i, "i")]
        return (f"loop {m} = copy ({self.matrix(scope, depth)}) for {i} < 2i64 do "
                f"copy {m} with [{i}, {self.index(inner)}] = {self.number(inner, depth)}")


def literal(numbers):
    return f"[{', '.join(f'{x:.2f}f64' for x in numbers)}]"


def arguments(generator):
    """A number, a vector and a matrix."""
    size, uniform = generator.size, generator.random.uniform
    rows = [literal([uniform(-1, 1) for _ in range(size)]) for _ in range(size + 1)]
    return f"({uniform(0.2, 1):.2f}f64, {rows[0]}, [{', '.join(rows[1:])}])"


def program(seed):
    generator = Generator(seed)
    size = generator.size
    body = generator.number([("x", "x"), ("xs", "v"), ("xss", "m")], 4 + seed % 4)
    return f"""
def f (x: f64, xs: [{size}]f64, xss: [{size}][{size}]f64) : f64 = f64.sin ({body})

def d = {arguments(generator)}
def at = {arguments(generator)}

def along (h: f64) =
  (at.0 + h * d.0, map2 (\\a b -> a + h * b) at.1 d.1, map2 (map2 (\\a b -> a + h * b)) at.2 d.2)

def dot (a: (f64, [{size}]f64, [{size}][{size}]f64)) =
  a.0 * d.0 + f64.sum (map2 (*) a.1 d.1) + f64.sum (map2 (*) (flatten a.2) (flatten d.2))

def forward (h: f64) : f64 = jvp f (along h) d
def backward (h: f64) : f64 = dot (vjp f (along h) 1)

entry main (h: f64) : [7]f64 =
  [(f (along h) - f (along (-h))) / (2 * h), (f (along (2 * h)) - f (along (-2 * h))) / (4 * h),
   forward 0, backward 0, (forward h - forward (-h)) / (2 * h), jvp backward 0 1, vjp forward 0 1]
"""


def close(a, b, tolerance):
    return abs(a - b) <= tolerance * max(1, abs(a), abs(b))


def complaint(values, ties=False):
    """Why the values disagree, or None.  Differences that depend on h are not held against us, nor any where values meet."""
    near, far, forward, backward, second, over_reverse, over_forward = values
    if not (math.isfinite(near) and math.isfinite(far)):
        return None  # the function has no value there: the greatest of no elements
    if not all(map(math.isfinite, values)):
        return "not finite"
    jump = ties or abs(second) * 1e-5 > 1e-4 * max(1, abs(forward))  # equal values meet in a max, say
    # Reverse mode adds up in another order, and what the derivative does with that the second one tells.
    if not close(forward, backward, 1e-8) and abs(forward - backward) > 1e-12 * abs(over_forward):
        return "forward and reverse differ"
    steady = not jump and close(near, far, 1e-5)
    if steady and not close(near, forward, 1e-4):
        return "forward and differences differ"
    if not close(over_reverse, over_forward, 1e-7):
        return "the second derivatives differ"
    if steady and not close(second, over_forward, 1e-3):
        return "second derivative and differences differ"
    return None


def numbers(text):
    """Those of the first array in what `flc eval` prints."""
    first = text[text.index("[") + 1:text.index("]")]
    return [float(n) for n in first.replace("f64.", "").replace("f64", "").split(",")]


def run(flc, text, values="1e-5", ties=False):
    with tempfile.NamedTemporaryFile("w", suffix=".fl") as file:
        file.write(text)
        file.flush()
        done = subprocess.run([flc, "eval", file.name, "--after", "simplify"], input=values, capture_output=True,
                              text=True, timeout=300)
    if done.returncode:
        return done.stderr.strip()[:500] or f"status {done.returncode}"
    return complaint(numbers(done.stdout), ties)


def idiom(make, seed):
    """A program and its arguments."""
    generator = make(seed)
    if make is PlacesGenerator:
        return generator.text(), generator.input()
    lets, results = generator.program()
    return generator.definitions() + generator.text(lets, results), generator.input()


def main():
    kinds = {"--idioms": SmoothGenerator, "--changing": ChangingGenerator, "--ties": TiesGenerator, "--places": PlacesGenerator,
             "--parts": SmoothPartsGenerator}
    words = [word for word in sys.argv[1:] if word not in kinds]
    idioms = next((kinds[word] for word in sys.argv[1:] if word in kinds), None)
    if words[0] == "--print":
        seed = int(words[1])
        print("\n".join(idiom(idioms, seed)) if idioms else program(seed))
        return
    flc, count = words[0], int(words[1])
    first = int(words[2]) if len(words) > 2 else 0
    wrong = 0
    for seed in range(first, first + count):
        message = run(flc, *idiom(idioms, seed), idioms is TiesGenerator) if idioms else run(flc, program(seed))
        if message:
            wrong += 1
            print(f"seed {seed}: {message}", flush=True)
    print(f"{count - wrong} right, {wrong} wrong")
    sys.exit(wrong > 0)


if __name__ == "__main__":
    main()
