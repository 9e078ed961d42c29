"""Points that ask for bits of their indices, and read where these are others: exchanges, butterflies, gates, sorts.
The bit is a parameter, a shift by one, or a constant; of what is asked for, some is of another bit."""
import random

from choices import Choices


class PartnersGenerator(Choices):
    expected = None
    may_fail = False

    def __init__(self, seed):
        super().__init__(random.Random(seed))
        self.j = "j"

    def widen(self):
        pass

    def bit(self):
        """Most often the same one."""
        return self.one_of("m", "m", "m", "m", "p", "(1 << k)", "(1 << k)", "(2 << k)", "(m * 2)", "(1 << (k + 1))", "4", "(m + 1)", "q")

    def mask(self):
        b = self.bit()
        return self.one_of(b, b, b, f"(!{b})", f"({b} - 1)", f"({b} + {b} - 1)")

    def index(self, depth=2):
        if depth == 0 or self.random.random() < 0.25:
            return "i"
        x, b = self.index(depth - 1), self.bit()
        x = self.one_of("i", x)
        return self.one_of(f"({x} ^ {b})", f"({x} ^ {b})", f"({x} & {self.mask()})", f"({x} & {self.mask()})", f"({x} | {b})", f"({x} + {b})", f"({x} - {b})", f"({x} / {b})", f"({x} % {b})",
                         f"({x} % (2 * {b}))", f"({x} / (2 * {b}))", f"({x} / {b} % 2)", f"({x} // {b} %% 2)", f"({x} >> k & 1)", f"({x} >> k)", f"({x} >> (k + 1) & 1)",
                         f"(({x} & !{b}) | {b})", f"(({x} % (2 * {b})) % {b})", f"({x} / (2 * {b}) * (2 * {b}) + {x} % {b})", f"(n - 1 - {x})", "j", "j", f"(if i & {b} == 0 then {x} else i ^ {b})").replace("j", self.j)

    def condition(self, depth=2):
        x, b = self.index(max(0, depth - 1)), self.bit()
        return self.one_of(f"{x} & {b} == 0", f"{x} & {b} == {self.bit()}", f"{x} & {b} != 0", f"{x} >> k & 1 == 1", f"{x} / {b} % 2 == {self.one_of('0', '1')}", f"{x} % (2 * {b}) < {b}", f"{x} < {self.index(0)}",
                         f"{x} <= {self.index(0)}", f"i < j", "i > j", f"{x} < n", f"0 <= {x}", f"({x} & {b} == 0) == (i < j)", f"{x} == {self.index(0)}", f"i64.i32 xs[i] > {x}")

    def value(self, depth=3):
        if depth == 0:
            return self.one_of(f"at {self.index()}", "at i", f"i32.i64 {self.index()}", f"xs[wrap {self.index()}]", "xs[i]", "at j")
        a, b = self.value(depth - 1), self.value(depth - 1)
        return self.one_of(f"({a} + {b})", f"({a} - {b})", f"({a} * 3 - {b})", f"(if {self.condition()} then {a} else {b})", f"(if {self.condition()} then {a} else {b})", f"i32.min ({a}) ({b})", f"i32.max ({a}) ({b})")

    def points(self, of):
        self.j = "i"
        j = self.index(1)
        self.j = "j"
        return f"tabulate n (\\i -> let at e = if 0 <= e && e < n then {of}[e] else 7 let wrap e = e % n let xs = {of} let j = {j} in {self.value()})"

    def program(self):
        return None, None

    def definitions(self):
        return ""

    def text(self, _lines, _results):
        rounds = self.one_of("", "", "let xs = loop xs = xs for k < 3 do let m = 1 << k in ")
        body = self.points("xs")
        rows = self.one_of(f"map (\\xs -> {body}) xss", f"map (\\xs -> loop xs = xs for _t < 2 do {body}) xss", f"transpose (map (\\xs -> {body}) xss)", f"map i32.sum (map (\\xs -> {body}) xss)", f"let xs = xss[0] in {body}",
                         f"(loop (xss, m) = (xss, 1) while m < n do (map (\\xs -> {body}) xss, m * 2)).0")
        lead = "let p = i64.max 1 p let q = 2 * m\n  in "
        first = f"entry main [n] (k: i64) (m: i64) (p: i64) (xs: [n]i32) =\n  {lead}{rounds}{('(' + body + ')') if rounds == '' else body + ' in xs'}\n"
        self.rows = f"entry rows [r] [n] (k: i64) (m: i64) (p: i64) (xss: [r][n]i32) =\n  {lead}{rows}\n"
        self.ranks = {"main": 1, "rows": 2}
        return first + self.rows

    def input(self, entry="main"):
        n = self.one_of(8, 16, 16, 32, 32, 64, 24, 17, 48)
        k = self.one_of(0, 1, 2, 3, 3, 4, 5)
        row = lambda: "[" + ", ".join(f"{self.random.randint(-9, 40)}i32" for _ in range(n)) + "]"
        xs = row() if entry == "main" else "[" + ", ".join(row() for _ in range(self.one_of(1, 2, 3))) + "]"
        m = self.one_of(1 << k, 1 << k, 1 << k, 3, 16, 2)
        return f"{k}i64 {m}i64 {self.one_of(m, 2 * m, 1 << k, 5)}i64 {xs}"
