"""Smooth functions of f64 as people write them, and their derivatives: stencils, gathers, histograms,
recurrences, loops with rounds of each point's own, in maps.

What a program prints is what derivatives.py judges, and two gradients.
"""
import random

from choices import Choices
from idioms.words import array_text

WIDTHS = (1, 2, 3, 5, 17)

DEFINITIONS = """type point [n] [m] = (f64, [n]f64, [n][m]f64)

def along [n] [m] (at: point [n] [m]) (d: point [n] [m]) (h: f64) : point [n] [m] =
  (at.0 + h * d.0, map2 (\\a b -> a + h * b) at.1 d.1, map2 (map2 (\\a b -> a + h * b)) at.2 d.2)

def dot [n] [m] (a: point [n] [m]) (b: point [n] [m]) : f64 =
  a.0 * b.0 + f64.sum (map2 (*) a.1 b.1) + f64.sum (map2 (*) (flatten a.2) (flatten b.2))

"""

JUDGED = """entry main [n] [m] (at: point [n] [m]) (d: point [n] [m]) (is: [n]i64) (js: [n]i64) (ts: [n]i32) (h: f64) :
    ([7]f64, [n]f64, [n][m]f64) =
  let f = f is js ts
  let forward (h: f64) : f64 = jvp f (along at d h) d
  let backward (h: f64) : f64 = dot (vjp f (along at d h) 1) d
  let gradient = vjp f at 1
  in ([(f (along at d h) - f (along at d (-h))) / (2 * h), (f (along at d (2 * h)) - f (along at d (-2 * h))) / (4 * h),
       forward 0, backward 0, (forward h - forward (-h)) / (2 * h), jvp backward 0 1, vjp forward 0 1],
      gradient.1, gradient.2)
"""


class SmoothGenerator(Choices):
    """A function f of a number, a vector and a matrix, with places, bins and counts of integers."""
    expected = None
    may_fail = False
    widths = WIDTHS

    def __init__(self, seed, _depth=4):
        super().__init__(random.Random(seed))
        self.vectors = {"n": ["xs"], "m": []}
        self.matrices = ["xss"]

    def vector(self, dim="n"):
        found = self.vectors[dim]
        if not found or self.chance(0.1):
            return f"(replicate {dim} (f64.sin x))" if not found or dim == "m" else "(map (* x) xs)"
        return found[-1] if self.chance(0.4) else self.pick(found)

    def matrix(self):
        return self.matrices[-1] if self.chance(0.4) else self.pick(self.matrices)

    # ---- numbers, from texts of numbers

    def value(self, atoms, depth=2):
        if depth == 0 or self.chance(0.15):
            return self.pick(atoms) if self.chance(0.85) else f"{self.random.uniform(0.2, 1.5):.3f}"
        a, b = self.value(atoms, depth - 1), self.value(atoms, depth - 1)
        return self.pick((f"({a} + {b})", f"({a} - {b})", f"({a} * {b})", f"({a} * {b})", f"({a} / (2 + {b} * {b}))",
                          f"(f64.max {a} {b})", f"(f64.min {a} {b})", f"f64.sin {a}".join("()"), f"f64.tanh {a}".join("()"),
                          f"f64.exp (-{a} * {a})".join("()"), f"f64.sqrt (1 + {a} * {a})".join("()"), f"f64.abs {a}".join("()"),
                          f"(if {a} > {self.random.uniform(-1, 1):.3f} then {b} else {a} * 0.5)",
                          f"(if ts[0] % 2 == 0 then {a} else {b})"))

    def near(self, v, n, i="i"):
        c = self.pick((1, 1, 2, 3))
        return self.pick((f"{v}[{i}]", f"{v}[i64.max 0 ({i} - {c})]", f"{v}[i64.min ({n} - 1) ({i} + {c})]", f"{v}[({i} + {c}) % {n}]",
                          f"{v}[({i} - {c}) % {n}]", f"{v}[{n} - 1 - {i}]", f"(if {i} + {c} < {n} then {v}[{i} + {c}] else 0.3)",
                          f"(if {i} >= {c} then {v}[{i} - {c}] else x)", f"{v}[{i} / 2]") +
                         ((f"{v}[is[{i}]]", f"{v}[is[is[{i}]]]", f"({v}[{i}] * f64.i32 (ts[{i}] % 3))") if n == "n" else ()))

    def around(self, n, i="i"):
        v, w = self.vector(n), self.vector(n)
        return ["x", self.near(v, n, i), self.near(v, n, i), self.near(w, n, i)]

    # ---- vectors

    def stencil(self):
        n = self.pick("nnm")
        return f"tabulate {n} (\\i -> {self.value(self.around(n), 3)})", n

    def stencil_rounds(self):
        n = self.pick("nnm")
        start, atoms = self.vector(n), ["x"] + [self.near("a", n) for _ in range(3)]
        rounds = self.pick(("3", "2", "i64.i32 (ts[0] % 4)", "(m + 1)"))
        return self.pick((f"(loop a = {start} for t < {rounds} do tabulate {n} (\\i -> 0.5 * {self.value(atoms, 2)}))",
                          f"(loop (a, b) = ({start}, {self.vector(n)}) for t < {rounds} do (tabulate {n} (\\i -> b[i] * 0.5 + "
                          f"{self.value(atoms, 1)}), a)).{self.pick((0, 1))}")), n

    def recurrence(self):
        n = self.pick("nnm")
        start = self.vector(n)
        atoms = ["x", "a[i - 1]", f"{start}[i]", "s"]
        return self.pick((
            f"(loop a = copy {start} for i in 1..<{n} do let s = a[i] in a with [i] = {self.value(atoms, 2)})",
            f"(loop (a, s) = (copy {start}, x) for i < {n} do let y = {self.value(['a[i]', 's', self.near(start, n)], 2)} "
            f"in (a with [i] = y, {self.value(['s', 'y'], 1)})).0",
            f"(loop a = copy {start} for i < {n} do if ts[i % n] % 2 == 0 then a with [i] = f64.sin a[{n} - 1 - i] else a)",
            f"(loop a = copy {start} for t < 3i64 do let c = i64.min t {n} in a with [c:] = map2 (\\p q -> p * 0.5 + f64.sin q) "
            f"a[:{n} - c] a[c:])",
            f"(loop a = copy {start} for t < 2i64 do scatter (copy a) (map (\\i -> {n} - 1 - i) (iota ({n} / 2))) "
            f"(map (\\i -> {self.value(['a[i]', f'a[{n} - 1 - i]'], 2)}) (iota ({n} / 2))))",
            f"(loop r = {{a = copy {start}, s = x}} for i < {n} do {{a = copy r.a with [i] = r.s * 0.5, s = {self.value(['r.s', 'r.a[i]'], 2)}}}).a"
            )), n

    def own_rounds(self):
        """Rounds of each point's own."""
        n = self.pick("nn")
        atoms = ["y", "x"] + self.around(n)[1:]
        step = self.value(atoms, 2)
        rounds = self.pick(("i64.i32 (ts[i] % 4)", "i % 3", "2 + i64.i32 ts[0] % 2"))
        return self.pick((
            f"tabulate {n} (\\i -> loop y = {self.near(self.vector(n), n)} for t < {rounds} do 0.7 * {step})",
            f"tabulate {n} (\\i -> (loop (y, t) = ({self.near(self.vector(n), n)}, 0i64) while t < {rounds} && y < 20 do (0.3 + {step}, t + 1)).0)",
            f"tabulate {n} (\\i -> (loop (y, w) = (x, tabulate 3 (\\j -> {self.vector(n)}[(i + j) % {n}])) for t < {rounds} do "
            f"let y = {self.value(['y', 'w[0]', 'w[t % 3]'], 2)} in (y, copy w with [t % 3] = y * w[1])).1[1])",
            f"tabulate {n} (\\i -> (loop (y, v) = (1, {self.near(self.vector(n), n)}) for _t < 4i32 do (0.5 * (y + v / (1 + y * y)), v)).0)")), n

    def gathered(self):
        n = "n"
        v = self.vector(n)
        return self.pick((
            f"map (\\i -> {self.value([f'{v}[i]', 'x'], 2)}) is", f"map2 (\\i y -> {v}[i] * y) is {self.vector(n)}",
            f"map2 (\\i j -> {self.value([f'{v}[i]', f'{v}[is[i]]'] + ['xss[i, j]'], 2)}) is (map (% m) (map (i64.max 0) js))",
            f"(let e = {v}[::2] in tabulate n (\\i -> e[i / 2] * {v}[i]))", f"rotate 1 {v}", f"reverse {v}",
            f"(let h = n / 2 in {v}[h:] ++ {v}[:h]) :> [n]f64", f"(copy {v} with [n / 2:] = {v}[:n - n / 2])",
            f"scatter (copy {v}) (map (\\i -> i * 2 - 1) (iota n)) {self.vector(n)}")), n

    def histogram(self):
        to = self.pick("mmn")
        v = self.vector("n")
        bins = self.pick(("js", "is", "(map (\\i -> i / 2) (iota n))", "(map (\\t -> i64.i32 t % 3 - 1) ts)"))
        op, neutral, made = self.pick((("(+)", "0", f"(map f64.sin {v})"), ("(+)", "0", v), ("(*)", "1", f"(map (\\y -> 1 + 0.3 * f64.sin y) {v})"),
                                       ("f64.max", "f64.lowest", v), ("f64.min", "f64.highest", v)))
        dest = self.pick((f"(replicate {to} {neutral})", f"(copy {self.vector(to)})", f"(map (\\y -> y * 0.5) {self.vector(to)})"))
        if "max" in op or "min" in op:
            dest = f"(copy {self.vector(to)})"
        return f"reduce_by_index {dest} {op} {neutral} {bins} {made}", to

    def scanned(self):
        n = self.pick("nnm")
        v = self.vector(n)
        return self.pick((
            f"scan (+) 0 (map (* 0.3) {v})", f"scan (*) 1 (map (\\y -> 1 + 0.2 * f64.sin y) {v})", f"scan f64.max f64.lowest {v}",
            f"scan f64.min f64.highest {v}", f"reverse (scan (+) 0 (reverse {v}))",
            f"map (.0) (scan (\\(a, b) (c, d) -> (c + d * a, b * d)) (0, 1) (map (\\y -> (y, f64.cos y)) {v}))",
            f"map (.1) (scan (\\(f, a) (g, b) -> (f || g, if g then b else a + b)) (false, 0) (map2 (\\t y -> (t % 3 == 0, y)) "
            f"{'ts' if n == 'n' else '(map i32.i64 (iota m))'} {v}))",
            f"map (\\q -> q[0, 1]) (scan (\\a b -> tabulate_2d 2 2 (\\i j -> f64.sum (map (\\l -> a[i, l] * b[l, j]) (iota 2)))) "
            f"[[1, 0], [0, 1]] (map (\\y -> [[1, f64.tanh y], [0.5, 0.2]]) {v}))")), n

    def windows(self):
        n = self.pick("nnm")
        v, c = self.vector(n), self.pick((1, 2, 4))
        body = self.value(["y", "x"], 2)
        return self.pick((
            f"tabulate {n} (\\i -> f64.sum (map (\\y -> {body}) {v}[i64.max 0 (i - {c}):i + 1]))",
            f"tabulate {n} (\\i -> f64.sum (map (\\j -> let y = {v}[(i + j) % {n}] in {body}) (iota {c})))",
            f"tabulate {n} (\\i -> f64.sum (map (\\j -> let y = {v}[j % {n}] in {body}) (iota (i % {c + 1}))))",
            f"tabulate {n} (\\i -> f64.maximum (map (\\j -> {v}[(i + j) % {n}]) (iota {c})))",
            f"tabulate {n} (\\i -> loop s = 0 for j < {c} do if i + j < {n} then s * 0.5 + {v}[i + j] else s)",
            f"tabulate {n} (\\i -> let c = filter (> 0.1) (map (\\j -> {v}[(i + j) % {n}]) (iota {c})) in f64.sum (map (\\y -> {body}) c))")), n

    def pairs(self):
        n = self.pick("nnm")
        v, w = self.vector(n), self.vector(n)
        body = self.value(["y", "z", "x"], 2)
        return self.pick((
            f"map (\\y -> f64.sum (map (\\z -> {body}) {w}) * 0.1) {v}",
            f"(let s = f64.sum (map f64.exp (map f64.tanh {v})) in map (\\y -> f64.exp (f64.tanh y) / s) {v})",
            f"(let s = f64.maximum {v} in map2 (\\y z -> {body} - s) {v} {w})",
            f"(let (s, at) = reduce (\\(a, i) (b, j) -> if a > b || a == b && i < j then (a, i) else (b, j)) (f64.lowest, -1) "
            f"(zip {v} (iota {n})) in map2 (\\y i -> if i == at then s * y else y - s) {w} (iota {n}))",
            f"map (\\p -> p.a * p.b) (map2 (\\y z -> {{a = y, b = f64.sin z}}) {v} {w})",
            f"map (\\y -> match (if y > 0.2 then #big y else #small (y * y) : #big f64 | #small f64) case #big z -> z * 2 case #small z -> f64.sin z) {v}")), n

    def of_matrix(self):
        n, a = self.pick("nm"), self.matrix()
        rows = a if n == "n" else f"(transpose {a})"
        other = "m" if n == "n" else "n"
        v = self.vector(other)
        return self.pick((
            f"map (\\r -> f64.sum (map2 (*) r {v}) * 0.3) {rows}", f"map (\\r -> f64.maximum r) {rows}",
            f"map (\\r -> loop s = 0 for y in r do s * 0.5 + f64.sin y) {rows}", f"map (\\r -> f64.sum (filter (> 0) r)) {rows}",
            f"map (\\r -> reduce (\\a b -> a + b + 0.1 * a * b) 0 (map f64.sin r)) {rows}",
            f"map (\\r -> let s = f64.sum r in f64.sum (map (\\y -> y * y / (1 + s * s)) r)) {rows}",
            f"map (\\r -> last (scan (+) 0 (map f64.tanh r))) {rows}", f"copy (transpose {rows})[0]",
            f"reduce (map2 (+)) (replicate {n} 0) (map (map (* 0.2)) {'(transpose ' + rows + ')'})")), n

    # ---- matrices

    def cells(self):
        a, v, w = self.matrix(), self.vector("n"), self.vector("m")
        atoms = [f"{a}[i, j]", f"{a}[(i + 1) % n, j]", f"{a}[i, i64.max 0 (j - 1)]", f"{v}[i]", f"{w}[j]", f"{a}[is[i], j]",
                 f"{a}[n - 1 - i, (j + i) % m]"]
        return f"tabulate_2d n m (\\i j -> {self.value(atoms, 3)})"

    def of_rows(self):
        a, w = self.matrix(), self.vector("m")
        body = self.value(["y", "z", "x"], 2)
        return self.pick((
            f"map (\\r -> map2 (\\y z -> {body}) r {w}) {a}", f"map (scan (+) 0) (map (map (* 0.3)) {a})", f"{a}[::-1] :> [n][m]f64",
            f"map (\\r -> let s = f64.sum r in map (\\y -> y / (1 + s * s)) r) {a}", f"scan (map2 (+)) (replicate m 0) (map (map (* 0.2)) {a})",
            f"map2 (\\r t -> if t % 2 == 0 then map f64.sin r else reverse r) {a} ts",
            f"map2 (\\r t -> loop r for _u < t % 3 do map (\\y -> y * 0.5 + f64.cos y) r) {a} ts",
            f"map (\\r -> loop r = copy r for j in 1..<m do r with [j] = r[j - 1] * 0.5 + f64.sin r[j]) {a}",
            f"map (\\r -> reduce_by_index (copy r) (+) 0 (map (\\j -> j / 2) (iota m)) (map f64.sin r)) {a}",
            f"map2 (\\r i -> {a}[i]) {a} is", f"map reverse {a}",
            f"(loop a = copy {a} for i in 1..<n do a with [i] = map2 (\\y z -> {body} * 0.5) a[i - 1] a[i])",
            f"(loop a = copy {a} for k < i64.min n m do a with [k:, k:] = tabulate_2d (n - k) (m - k) (\\i j -> a[k + i, k + j] - 0.1 * "
            f"a[k + i, k] * f64.sin a[k, k + j]))",
            f"(loop a = {a} for _t < 2i32 do tabulate_2d n m (\\i j -> 0.3 * (a[i, j] + a[i64.max 0 (i - 1), j] + f64.sin a[i, (j + 1) % m])))",
            f"unflatten (reverse (flatten {a}) :> [n * m]f64)",
            f"(let g = map (\\r -> map (\\q -> f64.tanh (f64.sum (map2 (*) r q))) {a}) {a} in map (\\r -> map (\\c -> "
            f"0.1 * f64.sum (map2 (*) r c)) (transpose {a})) g)"))

    # ---- programs

    VECTORS = (stencil, stencil, stencil_rounds, stencil_rounds, recurrence, recurrence, own_rounds, own_rounds, gathered, gathered,
               histogram, histogram, scanned, windows, windows, pairs, of_matrix, of_matrix)
    MATRICES = (cells, of_rows, of_rows)

    def program(self):
        lets = []
        for _ in range(self.random.randint(1, 5)):
            name = self.fresh("v")
            if self.chance(0.3):
                lets.append((name, "[n][m]f64", self.pick(self.MATRICES)(self)))
                self.matrices.append(name)
            else:
                exp, dim = self.pick(self.VECTORS)(self)
                lets.append((name, f"[{dim}]f64", exp))
                self.vectors[dim].append(name)
        return lets, []

    def text(self, lets, _results):
        name, type_, _ = lets[-1]
        last = f"(flatten {name})" if type_ == "[n][m]f64" else name
        total = self.pick((f"f64.sum (map f64.sin {last})", f"f64.sum {last}", f"f64.sum (map (\\y -> y * y) {last})",
                           f"reduce (\\a b -> a + b + 0.1 * a * b) 0 (map f64.sin {last})"))
        lines = ["def f [n] [m] (is: [n]i64) (js: [n]i64) (ts: [n]i32) (x: f64, xs: [n]f64, xss: [n][m]f64) : f64 ="]
        lines += [f"  let {name} : {type_} = {exp}" for name, type_, exp in lets]
        return "\n".join(lines + [f"  in f64.sin ({total})", "", JUDGED])

    def definitions(self):
        return DEFINITIONS

    def input(self):
        n, m = self.pick(self.widths), self.pick(self.widths[:4])
        number = lambda: f"{self.random.uniform(-1, 1):.3f}"
        point = lambda: " ".join([number() + "f64", array_text((n,), "f64", number), array_text((n, m), "f64", number)])
        return " ".join([point(), point(), array_text((n,), "i64", lambda: self.random.randrange(n)),
                         array_text((n,), "i64", lambda: self.random.randint(-1, m)),
                         array_text((n,), "i32", lambda: self.random.randint(0, 9)), "1e-5f64"])
