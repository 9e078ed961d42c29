"""What groups of work-items share: products of rows by columns with branches, look-ups and divisions, rows that points go through,
stencils of one to three dimensions in loops; of enough points that groups are full."""
import random

from choices import Choices


class BlocksGenerator(Choices):
    expected = None
    may_fail = False

    def __init__(self, seed):
        super().__init__(random.Random(seed))
        self.ranks = {}

    def widen(self):
        pass

    def term(self, names, depth=2):
        if depth == 0 or self.random.random() < 0.2:
            return self.one_of(*names, *names, "3", "s0", "k")
        a, b = self.term(names, depth - 1), self.term(names, depth - 1)
        return self.one_of(f"({a} + {b})", f"({a} * {b})", f"({a} - {b})", f"(i32.max {a} {b})", f"(if {a} < {b} then {a} else {b})", f"(if {a} & 1 == 0 then {b} else 7)", f"({a} / (1 + ({b} & 3)))", f"({a} % (2 + ({b} & 7)))",
                         f"table[i64.i32 ({a} & 15)]", f"({a} ^ {b})", f"(i32.i8 (i8.i32 {a}))")

    def product(self):
        """For each row of one matrix and each of another."""
        body = self.term(["x", "y"], 3)
        op, zero = self.one_of(("(+)", "0"), ("i32.max", "i32.lowest"), ("(^)", "0"), ("(+)", "0"))
        inner = self.one_of(f"reduce {op} {zero} (map2 (\\x y -> {body}) a b)", f"(loop s = k for i < m do let x = a[i] let y = b[i] in {self.one_of('s + ', 's ^ ', '3 * s - ', 'i32.min s ')}({body}))",
                          f"(loop (s, j) = (k, 0) for i < m do let x = a[i] let y = b[(i + 1) % m] in let v = {body} in if v > s then (v, i32.i64 i) else (s, j)).1",
                          f"(loop (s, t) = (k, 1) for i < m do let x = a[i] let y = b[i] in if x > y then (s + {body}, t) else (s, t * 3 - x)).0",
                          f"reduce {op} {zero} (map3 (\\x y i -> {body} - i32.i64 i) a b (iota m))", f"i32.sum (map2 (\\x y -> {body}) a (take m w))", f"i32.sum (map2 (\\x y -> if x == y then 1 else {body}) a b)")
        others = self.one_of("ys", "ys", "xs", "zs")
        form = self.one_of(f"map (\\a -> map (\\b -> {inner}) {others}) xs", f"map (\\b -> map (\\a -> {inner}) xs) {others}", f"map (\\a -> i32.sum (map (\\b -> {inner}) {others})) xs",
                         f"map (\\a -> map (\\b -> {inner}) {others}) zs", f"map2 (\\a b -> {inner}) xs (rotate 1 xs)", f"map (\\a -> let b = w in {inner}) xs",
                         f"map (\\a -> let b = reverse a in {inner}) xs", f"let q = transpose xs in map (\\a -> map (\\b -> {inner}) {others}) (transpose q)")
        return form

    def rows(self):
        """Points that go through rows of their own, and make others."""
        body = self.term(["x", "s"], 2)
        return self.one_of(
            f"map (\\a -> scan (\\s x -> {self.one_of('s + x', 'i32.max s x', 's ^ x')}) 0 (map (\\x -> let s = x in {body}) a)) xs",
            f"map (\\a -> (loop (s, out) = (k, replicate m 0) for i < m do let x = a[i] in let s = {body} in (s, out with [i] = s)).1) xs",
            f"transpose (map (\\a -> (loop (s, out) = (k, replicate m 0) for i < m do let x = a[m - 1 - i] in let s = {body} in (s, out with [m - 1 - i] = s + x)).1) xs)",
            f"map (\\a -> loop s = k for x in a do if x > s then {body} else s + 1) xs", f"map (\\a -> (loop (s, i) = (k, 0) while i < m && s < 1000 do let x = a[i] in ({body}, i + 1)).0) xs",
            f"map (\\a -> loop s = k for i < m do let x = a[i] + w[i] in {body}) xs", f"map2 (\\a c -> loop s = c for i < m do let x = a[i] in {body}) xs (map i32.sum xs)",
            f"map (\\a -> map (\\x -> loop s = x for i < 5 do let x = table[i64.i32 (s & 15)] in {body}) a) xs",
            f"map (\\a -> let h = hist (+) 0 16 (map (\\x -> i64.i32 (x & 15)) a) a in map (\\x -> let s = h[i64.i32 (x & 15)] in {body}) a) xs")

    def stencil(self):
        c = lambda e, n: self.one_of(f"(({e}) % {n})", f"(i64.max 0 (i64.min ({n} - 1) ({e})))")
        d = lambda: self.one_of("+ 1", "- 1", "+ 2", "- 2", "+ 0")
        near = [f"q[{c('i ' + d(), 'n')}, {c('j ' + d(), 'm')}]" for _ in range(4)] + ["q[i, j]"]
        flat = f"tabulate_2d n m (\\i j -> {self.term(near, 2)})"
        near3 = [f"q[{c('h ' + d(), 'p')}, {c('i ' + d(), 'n')}, {c('j ' + d(), 'm')}]" for _ in range(4)] + ["q[h, i, j]"]
        deep = f"tabulate_3d p n m (\\h i j -> {self.term(near3, 2)})"
        row = f"tabulate n (\\i -> {self.term([f'q[{c(chr(105) + chr(32) + d(), chr(110))}]' for _ in range(3)], 2)})"
        t = self.one_of("1", "2", "3")
        return self.one_of(f"let q = xs in {flat}", f"loop q = xs for _t < {t} do {flat}", f"let p = 3i64 let q = [xs, zs, xs] :> [p][n][m]i32 in {deep}", f"let p = 3i64 in loop q = ([xs, zs, zs] :> [p][n][m]i32) for _t < {t} do {deep}",
                         f"loop q = map i32.sum xs for _t < {t} do {row}")

    def program(self):
        return None, None

    def definitions(self):
        return "def table : [16]i32 = [3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5, 8, 9, 7, 9, 3]\n"

    def text(self, _lines, _results):
        entries = []
        for name in ("main", "second"):
            self.ranks[name] = 2
            body = self.one_of(self.product, self.product, self.rows, self.stencil)()
            entries.append(f"entry {name} [n] [m] [l] (xs: [n][m]i32) (ys: [l][m]i32) (w: [m]i32) (k: i32) =\n  let s0 = k + 1 let zs = map (map (+ k)) (reverse xs) in\n  {body}\n")
        return "\n".join(entries)

    def input(self, entry="main"):
        n, m, l = self.one_of(64, 65, 70, 3, 0), self.one_of(16, 17, 35, 5, 0), self.one_of(64, 16, 5)
        row = lambda: "[" + ", ".join(f"{self.random.randint(-9, 40)}i32" for _ in range(m)) + "]"
        matrix = lambda n: f"empty([{n}][{m}]i32)" if n * m == 0 else "[" + ", ".join(row() for _ in range(n)) + "]"
        return f"{matrix(n)} {matrix(l)} {row() if m else 'empty([0]i32)'} {self.random.randint(-2, 5)}i32"
