"""Sums over maps that read a matrix and a vector at sums of the numbers of points: shifted, turned, every other one, round the ends,
at places of two numbers, the same for all points; in maps, loops and sums within each other.  Sizes are known when the program runs."""
import random

from choices import Choices

ENTRY = """
entry main [n] [m] (h: f64) (xss: [n][m]f64) (xs: [n]f64) (dxss: [n][m]f64) (dxs: [n]f64) : [7]f64 =
  let along h = (map2 (map2 (\\a b -> a + h * b)) xss dxss, map2 (\\a b -> a + h * b) xs dxs)
  let dot (yss, ys) = f64.sum (map2 (*) (flatten yss) (flatten dxss)) + f64.sum (map2 (*) ys dxs)
  let forward h = jvp f (along h) (dxss, dxs)
  let backward h = dot (vjp f (along h) 1)
  in [(f (along h) - f (along (-h))) / (2 * h), (f (along (2 * h)) - f (along (-2 * h))) / (4 * h),
      forward 0, backward 0, (forward h - forward (-h)) / (2 * h), jvp backward 0 1, vjp forward 0 1]
"""


class PlacesGenerator(Choices):
    def __init__(self, seed):
        super().__init__(random.Random(seed))

    def place(self, numbers, size):
        number, other, more = self.one_of(*numbers), self.one_of(*numbers), self.random.randrange(-2, 3)
        shift = f"+ {more}" if more >= 0 else f"- {-more}"
        return self.one_of(number, f"{number} {shift}", f"{number} + {other} {shift}", f"({number} {shift}) % {size}",
                         f"{self.one_of('2', '3', '(-2)')} * {number} {shift}", f"{size} - 1 - {number}", str(abs(more)))

    def read(self, numbers, matrix):
        sizes = ("n", "m") if matrix else ("n",)
        places = [self.place(numbers, size) for size in sizes]
        there = " && ".join(f"{place} >= 0 && {place} < {size}" for place, size in zip(places, sizes))
        return f"(if {there} then {'xss' if matrix else 'xs'}[{', '.join(places)}] else {self.one_of('0', '0.5')})"

    def number(self, numbers, depth):
        kind = self.random.randrange(7 if depth else 3)
        if kind == 0:
            return f"{self.read(numbers, True)} * {self.read(numbers, False)}"
        if kind == 1:
            return self.read(numbers, True)
        if kind == 2:
            return f"f64.sin ({self.read(numbers, False)} + {self.read(numbers, True)})"
        inner, width = f"i{len(numbers)}", self.one_of("n", "m", "2", "3")
        if kind == 6:
            return f"(let t = {self.number(numbers, depth - 1)} in t * {self.number(numbers, depth - 1)})"
        body = self.number(numbers + [inner], depth - 1)
        if kind == 5:
            return f"(loop s = 1 for {inner} < {width} do f64.sin (s * 0.7 + {body}))"
        return f"f64.sum (tabulate {width} (\\{inner} -> {body}))"

    def text(self):
        depth = self.random.randrange(1, 3)
        if self.random.randrange(2):
            sum_ = f"tabulate {self.one_of('n', 'm', '2', '4')} (\\i0 -> {self.number(['i0'], depth)} * f64.i64 (i0 + 1))"
        else:
            point = f"{self.number(['i0', 'i1'], depth)} * f64.i64 (i0 + 2 * i1 + 1)"
            sum_ = f"flatten (tabulate_2d {self.one_of('n', 'm', '2')} {self.one_of('n', 'm', '3')} (\\i0 i1 -> {point}))"
        return f"def f [n] [m] (xss: [n][m]f64, xs: [n]f64) : f64 = f64.sin (f64.sum ({sum_}) / 8)\n{ENTRY}"

    def input(self):
        n, m = self.random.randrange(1, 5), self.random.randrange(1, 5)
        row = lambda size: "[" + ", ".join(f"{self.random.uniform(0.1, 1):.3f}f64" for _ in range(size)) + "]"
        matrix = lambda: "[" + ", ".join(row(m) for _ in range(n)) + "]"
        return f"1e-5 {matrix()} {row(n)} {matrix()} {row(n)}"
