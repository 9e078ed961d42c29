"""Rows that each point of a map works on by itself: scans with operators of tuples and records, histograms with several
destinations, scatters in one to three dimensions, changes in place, stencils, recursion, in loops whose rounds each point has of
its own, or all have together.  All arrays of a program have m elements, so any of them may stand anywhere.  Of four programs one
may fail: some of its indices leave their arrays, some divisors are 0, some assertions are false."""
import random

from choices import Choices

DEFINITIONS = """type state [m] = {a: [m]i32, s: i32, on: bool, p: (i8, f16)}

def gcd (a: i32) (b: i32) : i32 = if b == 0 then a else gcd b (a %% b)
#[depth(16)] def climb (a: i32) (b: i32) : i32 = if b < 1 then a else 2 * climb (a + b) (b - 1) - climb (a ^ b) (b - 3)
def steps (a: i32) : i32 = (loop (x, t) = (a & 63, 0i32) while x > 1 && t < 9 do (if x % 2 == 0 then x / 2 else 3 * x + 1, t + 1)).1
def half (x: i32) : i32 = i32.f16 (f16.i32 (x & 255) / 4)
def nan (x: i32) : f32 = f32.i32 (x % 3) / f32.i32 (x % 2)
"""

# Of two tuples: an associative operator, its neutral element, and an element made of numbers x and y.
TUPLES = (
    ("(\\(a, b) (c, d) -> (a * c, b * c + d))", "(1, 0)", "(x & 3, y)"),
    ("(\\(a, b) (c, d) -> if d then (c, d) else (a + c, b))", "(0, false)", "(x, y % 3 == 0)"),
    ("(\\(a, b) (c, d) -> if b == 0 then (c, d) else if d == 0 then (a, b) else (a, d))", "(0, 0)", "(x, 1 + (y & 1))"),
    ("(\\(a, b) (c, d) -> if a > c || a == c && b < d then (a, b) else (c, d))", "(i32.lowest, i32.highest)", "(x & 3, y)"),
    ("(\\(a, b) (c, d) -> if c == 0 then (a, b) else (c, d))", "(0, 0)", "(x & 1, y)"),
    ("(\\(a, b, c) (d, e, f) -> (a + d, b + e, c + f + a * e))", "(0, 0, 0)", None),
    ("(\\(a, b, c, d) (e, f, g, h) -> (a * e + b * g, a * f + b * h, c * e + d * g, c * f + d * h))", "(1, 0, 0, 1)", "(x, y, 1, 0)"),
    ("(\\(a, b) (c, d) -> (i8.min a c, u8.max b d))", "(i8.highest, u8.lowest)", "(i8.i32 x, u8.i32 y)"),
)
# Of which the order makes no difference.
ANY_ORDER = (
    ("(\\(a, b) (c, d) -> (a + c, i32.max b d))", "(0, i32.lowest)", "(x, y)"),
    ("(\\(a, b) (c, d) -> (a ^ c, b || d))", "(0, false)", "(x, y > 3)"),
    ("(\\(a, b) (c, d) -> if a > c || a == c && b < d then (a, b) else (c, d))", "(i32.lowest, i32.highest)", "(x & 3, y)"),
    ("(\\(a, b) (c, d) -> (a + c, b + d))", "(0, 0)", "(i8.i32 x, u16.i32 y)"),
)
PLAIN = (("(+)", "0"), ("i32.max", "i32.lowest"), ("i32.min", "i32.highest"), ("(^)", "0"), ("(*)", "1"), ("(\\a b -> a + b + a * b)", "0"))
PLACES = ("i", "m - 1 - i", "i - 2", "i + 3", "(i + 5) % m", "2 * i", "(if i % 3 == 1 then -1 else i)", "i * m")


class NestsGenerator(Choices):
    expected = None

    def __init__(self, seed):
        super().__init__(random.Random(seed))
        self.may_fail = seed % 4 == 3
        self.fuel = 0
        self.widths = (0, 1, 3, 4, 7, 16)

    def widen(self):
        self.widths = (17, 33, 100)

    # ---- numbers

    def place(self, i):
        if self.may_fail and self.chance(0.06):
            return self.one_of(f"({i} + 1)", f"({i} - 1)", f"(2 * {i})", f"(i64.i32 k + {i})")
        return self.one_of(i, f"(({i} + {self.random.randint(1, 5)}) % m)", f"(m - 1 - {i})", f"(i64.max 0 ({i} - 1))", f"({i} / 2)")

    def atom(self, scope):
        return self.random.choice(scope[0]) if self.chance(0.8) else self.one_of("0", "1", "2", "5", "9", "(-3)")

    def number(self, scope, depth=2):
        """Of i32, from a scope: names of numbers, of rows, and of places that are inside."""
        if depth == 0 or self.chance(0.15):
            return self.atom(scope)
        x, y = self.number(scope, depth - 1), self.number(scope, depth - 1)
        if self.may_fail and self.chance(0.04):
            return self.one_of(f"({x} / {y})", f"({x} %% ({y} & 7))", f"(assert ({x} != 3) {y})", f"([{x}, {y}])[i64.i32 ({x} & 3) % 3]",
                             f"(reduce (\\a b -> assert (b != 77) (a + b)) 0 {self.random.choice(scope[1])})")
        makers = [f"({x} {self.one_of(*'+-*^&|')} {y})"] * 6
        makers += [f"(if {self.condition(scope, depth - 1)} then {x} else {y})", f"(i32.{self.one_of('min', 'max')} {x} {y})",
                   f"({x} {self.one_of('/', '%', '//', '%%')} {self.random.choice((2, 3, -5, 7))})", f"({x} / (1 + ({y} & 3)))",
                   f"({x} {self.one_of('<<', '>>')} ({y} & 7))", f"(i32.{self.one_of('i8 (i8', 'u8 (u8', 'i16 (i16', 'u16 (u16')}.i32 {x}))",
                   f"(gcd {x} {y})", f"(climb {x} ({y} & 7))", f"(steps {x})", f"(half {x})",
                   f"(if nan {x} {self.one_of('<', '<=', '==', '!=')} nan {y} then {x} else 1)",
                   f"(i32.f32 (f32.max 0 (f32.min (nan {x}) 9)))",
                   f"(i32.i8 (i8.i32 {x} {self.one_of('+', '*', '-')} i8.i32 {y}))", f"(i32.u8 (u8.i32 {x} {self.one_of('+', '*', '/ 3 -')} u8.i32 {y}))",
                   f"(loop s = {x} for _t < ({y} & 3) do s * 3 + {self.atom(scope)})"]
        makers += [f"({self.random.choice(scope[1])})[{self.place(i)}]" for i in scope[2]] * 2
        if depth > 1 and self.chance(0.3):
            op, neutral = self.random.choice(PLAIN)
            return self.any_of(lambda: f"(reduce {op} {neutral} {self.vector(scope, 1)})", lambda: self.sum_of_few(scope, x))
        return self.random.choice(makers)

    def sum_of_few(self, scope, x):
        element = self.number((scope[0] + ["u"], scope[1], scope[2]), 1)
        return f"(i32.sum (map (\\u -> {element}) (map i32.i64 (iota (i64.i32 ({x} & 3))))))"

    def condition(self, scope, depth=1):
        return f"{self.number(scope, depth)} {self.one_of('<', '==', '!=', '>=')} {self.number(scope, depth)}"

    def times(self, scope):
        """Of a loop: the same for all points, or each point's own."""
        return self.any_of(lambda: "2", lambda: "3", lambda: f"({self.number(scope, 1)} & 3)", lambda: "(k & 3)", lambda: f"i32.i64 (m & 3)", lambda: "s0 & 3")

    # ---- rows of m numbers

    def vector(self, scope, depth=2):
        self.fuel -= 1
        if depth == 0 or self.fuel < 0 or self.chance(0.1):
            return self.random.choice(scope[1])
        kind = self.one_of(self.mapped, self.mapped, self.scanned, self.turned, self.placed, self.counted, self.changed, self.filtered,
                         self.looped, self.looped, self.chosen, self.in_rows, self.nested)
        return f"({kind(scope, lambda: self.vector(scope, depth - 1))})"

    def element(self, scope, names, places=()):
        return self.number((scope[0] + list(names) * 3, scope[1], list(places)))

    def mapped(self, scope, part):
        x, y = self.fresh(), self.fresh()
        return self.any_of(
            lambda: f"map (\\{x} -> {self.element(scope, [x])}) {part()}", lambda: f"map2 (\\{x} {y} -> {self.element(scope, [x, y])}) {part()} {part()}",
            lambda: f"tabulate m (\\i -> {self.element(scope, ['(i32.i64 i)'], ['i'])})",
            lambda: f"let q = {part()} in tabulate m (\\i -> q[{self.place('i')}] - {self.element(scope, [f'q[{self.place(chr(105))}]'], ['i'])})",
            lambda: f"map3 (\\{x} {y} i -> {self.element(scope, [x, y], ['i'])}) {part()} {part()} (iota m)")

    def elements(self, scope, part, made):
        return f"(map2 (\\x y -> {made}) {part()} {part()})"

    def scanned(self, scope, part):
        if self.chance(0.3):
            op, neutral = self.random.choice(PLAIN)
            return f"scan {op} {neutral} {part()}"
        op, neutral, made = self.random.choice(TUPLES)
        if not made:
            return f"map (\\(a, b, c) -> a + b - c) (scan {op} {neutral} (map2 (\\x y -> (x & 1, y, x)) {part()} {part()}))"
        fields = neutral.count(",") + 1
        names = "abcd"[:fields]
        to = {"i8": "i32.i8 a - i32.u8 b", "bool": "if b then a else a * 3"}.get("i8" if "i8." in made else "bool" if "==" in made else "", " - ".join(names))
        whole = self.elements(scope, part, made)
        of = f"({', '.join(names)})"
        return self.any_of(
            lambda: f"map (\\{of} -> {to}) (scan {op} {neutral} {whole})", lambda: f"map (\\{of} -> {to}) (scan {op} {neutral} {whole})",
            lambda: f"let {of} = reduce {op} {neutral} {whole} in let z = {to} in map (+ z) {part()}",
            lambda: f"map (\\{of} -> {to}) (reverse (scan {op} {neutral} (reverse {whole})))",
            lambda: f"map (\\{of} -> {to}) (map (\\q -> reduce {op} {neutral} (take (q % (m + 1)) {whole})) (iota m))" if fields == 2 else
            f"map (\\{of} -> {to}) (scan {op} {neutral} (rotate 1 {whole}))")

    def turned(self, _scope, part):
        c = self.random.randint(-3, 5)
        return self.any_of(
            lambda: f"rotate {'(' + str(c) + ')'} {part()}", lambda: f"reverse {part()}", lambda: f"copy (({part()})[::-1])",
            lambda: f"let h = m / {self.one_of('2', '3')} let q = {part()} in (q[h:] ++ q[:h]) :> [m]i32",
            lambda: f"let q = {part()} let p = {part()} in take m (q ++ p) |> map2 (-) (take m (drop (m / 2) (p ++ q)))",
            lambda: f"let h = m / 3 let q = {part()} in (flatten (transpose (unflatten (q[:3 * h] :> [3 * h]i32))) ++ q[3 * h:]) :> [m]i32",
            lambda: f"let q = rotate 1 {part()} let p = reverse {part()} in tabulate m (\\i -> q[i] + p[(i + 1) % m] * q[i64.max 0 (i - 1)])",
            lambda: f"let q = {part()} in flatten (transpose [q, {part()}]) |> (\\r -> r[:m] :> [m]i32)")

    def placed(self, scope, part):
        at, b = self.random.choice(PLACES), self.random.randint(1, 4)
        if self.chance(0.3):
            at = f"(if ({self.random.choice(scope[1])})[i] > {self.random.randint(-2, 9)} then i else -1)"
        into = self.any_of(lambda: "(replicate m 5)", lambda: f"(copy {part()})")
        return self.any_of(
            lambda: f"scatter {into} (tabulate m (\\i -> {at})) {part()}", lambda: f"let q = {part()} in scatter {into} (tabulate m (\\i -> {at})) q",
            lambda: f"let w = scatter_2d (replicate {b} (replicate m 3)) (tabulate m (\\i -> (i % {b + 1} - {self.one_of('0', '1')}, {at}))) {part()} "
            f"in reduce (map2 (+)) (replicate m 0) w",
            lambda: f"let w = scatter_3d (replicate 2 (replicate m (replicate {b} 1))) (tabulate m (\\i -> (i % 3, {at}, i % {b + 1} - 1))) {part()} "
            f"in map2 (\\x y -> i32.sum x - i32.sum y) w[0] w[1]",
            lambda: f"let (q, p) = unzip (scatter (map (\\x -> (x, x > 2)) {into}) (tabulate m (\\i -> {at})) (map2 (\\x y -> (x, y > x)) {part()} {part()})) "
            f"in map2 (\\x y -> if y then x else 3) q p",
            lambda: f"let w = scatter (replicate m [1, 2]) (tabulate m (\\i -> {at})) (map2 (\\x y -> [x, y]) {part()} {part()}) in map (\\r -> r[0] - r[1]) w")

    def counted(self, scope, part):
        bins = f"(map (\\x -> i64.i32 {self.element(scope, ['x'])} {self.one_of('% (m + 1)', '% i64.max 1 m', '& 3')}) {part()})"
        op, neutral = self.random.choice(PLAIN[:4])
        pair, start, made = self.random.choice(ANY_ORDER)
        to = "if b then a else 7" if ">" in made else "i32.i8 a + i32.u16 b" if "i8" in made else "a - b"
        return self.any_of(
            lambda: f"hist {op} {neutral} m {bins} {part()}", lambda: f"reduce_by_index (copy {part()}) {op} {neutral} {bins} {part()}",
            lambda: f"map (\\(a, b) -> {to}) (reduce_by_index (replicate m {start}) {pair} {start} {bins} {self.elements(scope, part, made)})",
            lambda: f"let bs = {bins} let q = {part()} in map2 (-) (hist {op} {neutral} m bs q) (hist (+) 0 m bs (map (* 2) q))",
            lambda: f"let w = hist (map2 (+)) (replicate 3 0) m {bins} (map (\\x -> [x, 1, x * x]) {part()}) in map (\\r -> r[0] * r[1] - r[2]) w",
            lambda: f"let w = reduce_by_index_2d (replicate 2 (replicate m 1)) {op} {neutral} (map2 (\\b i -> (i % 3 - 1, b)) {bins} (iota m)) {part()} "
            f"in map2 (-) w[0] w[1]")

    def changed(self, scope, part):
        cut = self.one_of("m / 2", "i64.min 2 m", "m - m / 3")
        x = self.fresh()
        new = self.number((scope[0] + [f"a[{self.place('i')}]", f"b[{self.place('i')}]"] * 2, scope[1], ["i"]))
        start = f"let b = {part()} let a = copy {self.any_of(lambda: 'b', lambda: part())} "
        return start + self.any_of(
            lambda: f"in loop a for i < m do a with [{self.place('i')}] = {new}",
            lambda: f"in loop a for i < m do if {self.condition(scope)} then a with [{self.place('i')}] = {new} else a with [i] = a[m - 1 - i]",
            lambda: f"let h = {cut} in a with [:h] = map (\\{x} -> {self.element(scope, [x])}) b[m - h:]",
            lambda: f"let h = {cut} in a with [h:] = copy a[:m - h]", lambda: f"in a with [::-1] = map2 (+) a b",
            lambda: f"let h = {cut} in loop a for t < {self.times(scope)} do a with [:h] = scan (+) 0 a[m - h:]",
            lambda: f"let h = m / 2 in a with [:2 * h:2] = (a[1:2 * h:2] :> [h]i32) |> map (* 3)",
            lambda: f"let c = a[m / 2:] let s = i32.sum c in a with [m / 2:] = map (+ s) (reverse c)",
            lambda: "let w = [a, b] in (loop w for i < m do let x = w[i % 2, i] in w with [(i + 1) % 2, i] = x + w[0, i / 2])[1]",
            lambda: f"let w = transpose [a, b] in map (\\r -> r[0] - r[1]) (loop w for i < m do w with [i] = [w[{self.place('i')}, 1], {new}])")

    def filtered(self, scope, part):
        x = self.fresh()
        kept = f"filter (\\{x} -> {self.condition((scope[0] + [x, x], scope[1], []))}) {part()}"
        return self.any_of(
            lambda: f"let f = {kept} in tabulate m (\\i -> if i < length f then f[i] else {self.number(scope, 1)})",
            lambda: f"let f = {kept} let s = scan (+) 0 f in tabulate m (\\i -> if i < length s then s[length s - 1 - i] else 1)",
            lambda: f"let (f, g) = partition (\\{x} -> {self.condition((scope[0] + [x], scope[1], []))}) {part()} in (g ++ f) :> [m]i32",
            lambda: f"let f = {kept} let z = i32.sum f + i32.i64 (length f) in map (+ z) {part()}")

    def looped(self, scope, part):
        a, s, t = self.fresh(), self.fresh(), self.fresh()
        inner = (scope[0] + [s, s, t], scope[1] + [a] * 4, [])

        def body():
            return self.vector(inner, self.one_of(1, 1, 2))

        def number():
            return self.number(inner)
        times = self.times(scope)
        state = f"{{a = {part()}, s = {self.number(scope, 1)}, on = {self.condition(scope)}, p = (3, 2)}}"
        own = (scope[0] + ["st.s", "(i32.i8 st.p.0)", t], scope[1] + ["st.a"] * 4, [])
        return self.any_of(
            lambda: f"(loop ({a}, {s}) = ({part()}, 1) for {t} < {times} do ({body()}, {number()})).0",
            lambda: f"let ({a}, {s}) = loop ({a}, {s}) = ({part()}, 1) for {t} < {times} do let {s} = {number()} in ({body()}, {s}) in map (+ {s}) {a}",
            lambda: f"(loop ({a}, {s}, {t}) = ({part()}, 2, 0i32) while {t} < {self.random.randint(2, 4)} && {self.condition(inner)} do "
            f"({body()}, {number()}, {t} + 1)).0",
            lambda: f"(loop ({a}, b, {t}, {s}) = ({part()}, {part()}, 0i32, 1) while {t} < {self.random.randint(2, 4)} && i32.sum {a} != {s} do "
            f"({self.one_of('b', body())}, {self.one_of(a, body())}, {t} + 1, {number()})).{self.one_of('0', '1')}",
            lambda: f"(loop st : state [m] = {state} for {t} < {times} do if st.on then st with a = {self.vector(own, 1)} with on = {self.condition(own)} "
            f"else st with s = {self.number(own)} with p = (i8.i32 st.s, st.p.1 + 1) with on = true).a",
            lambda: f"let w = replicate 2 {part()} in (loop w for {t} < {times} do let {a} = copy w[{t} % 2] let {s} = {t} in w with [1 - {t} % 2] = {body()})[0]"
            .replace(f"let {s} = {t}", f"let {s} = i32.i64 (i64.i32 {t})"))

    def chosen(self, scope, part):
        of = self.any_of(lambda: self.condition(scope), lambda: f"k % 2 == 0", lambda: "m > 3", lambda: "s0 > 2")
        return self.any_of(lambda: f"if {of} then {part()} else {part()}", lambda: f"if {of} then {part()} else {part()}",
                         lambda: f"match (k % 3) case 0 -> {part()} case 1 -> {part()} case _ -> {part()}",
                         lambda: f"let (q, z) = if {of} then ({part()}, {self.number(scope, 1)}) else ({part()}, 3) in map (+ z) q")

    def in_rows(self, scope, part):
        x = self.fresh()
        count = self.random.randint(2, 4)
        row = "[" + ", ".join(self.element(scope, [x]) for _ in range(count)) + "]"
        made = f"let w = map (\\{x} -> {row}) {part()} "
        op, neutral = self.random.choice(PLAIN[:4])
        return made + self.one_of(
            f"in map (\\r -> reduce {op} {neutral} r) w", f"let r = map (reduce {op} {neutral}) (transpose w) in tabulate m (\\i -> r[i % {count}])",
            f"let r = reduce (map2 {op}) (replicate {count} {neutral}) w in tabulate m (\\i -> r[i % {count}])",
            f"let u = map (scan {op} {neutral}) (transpose w) in map (\\r -> reduce (+) 0 r) (transpose u)",
            f"let u = scan (map2 {op}) (replicate {count} {neutral}) w in map (\\r -> r[0] - r[1]) u",
            f"let f = flatten w in tabulate m (\\i -> f[i] - f[m * {count} - 1 - i])", "let u = map reverse w in map2 (\\p q -> p[0] - q[1]) u (rotate 1 w)")

    def nested(self, scope, part):
        x, y = self.fresh(), self.fresh()
        op, neutral = self.random.choice(PLAIN[:4])
        inner = (scope[0] + [x] * 3, scope[1], [])
        return self.any_of(
            lambda: f"map (\\{x} -> reduce {op} {neutral} (map (\\{y} -> {self.element(inner, [y])}) {part()})) {part()}",
            lambda: f"map (\\{x} -> let q = scan {op} {neutral} (map (\\{y} -> {self.element(inner, [y])}) {part()}) in "
            f"if m == 0 then 1 else q[i64.i32 {x} % m]) {part()}",
            lambda: f"map (\\{x} -> i32.sum (tabulate (i64.i32 ({x} & 3)) (\\j -> let {y} = i32.i64 j in {self.element(inner, [y])}))) {part()}",
            lambda: f"map (\\{x} -> (loop ({y}, t) = ({x}, 0i32) while t < 5 && {self.condition((inner[0] + [y], scope[1], []))} do "
            f"({self.element(inner, [y, 't'])}, t + 1)).0) {part()}",
            lambda: f"map (\\{x} -> i32.sum (loop q = {part()} for t < ({x} & 3) do map (\\{y} -> {self.element(inner, [y])}) q)) {part()}")

    # ---- programs

    def program(self):
        scope = (["k", "k", "s0"], ["row", "row", "other"], [])
        lines, vectors = [], []
        for _ in range(self.random.randint(1, 3)):
            name, self.fuel = self.fresh(), 12
            if self.chance(0.75):
                lines.append(f"let {name} = {self.vector(scope, 3)}")
                scope[1].extend([name] * 2)
                vectors.append(name)
            else:
                lines.append(f"let {name} = {self.number(scope, 3)}")
                scope[0].extend([name] * 2)
        return lines, vectors

    def text(self, lines, vectors):
        body = "\n    ".join(lines)
        last = lines[-1].split()[1]
        every = [line.split()[1] for line in lines]
        result = " + ".join(f"i32.sum {v}" if v in vectors else v for v in (every if self.may_fail else vectors or [last]))
        if not self.may_fail:  # nothing that fails may be left out of the results
            result = self.one_of(f"map (+ {last}) row" if last not in vectors else last, result)
        return (f"entry main [n] [m] (ks: [n]i32) (rows: [n][m]i32) (other: [m]i32) =\n  let s0 = i32.sum other\n  in map2 (\\k row ->\n    {body}\n"
                f"    in {result}) ks rows\n")

    def definitions(self):
        return DEFINITIONS

    def numbers(self, count):
        low, high = self.one_of((-4, 9), (0, 3), (-100, 100))
        return "[" + ", ".join(f"{self.random.randint(low, high)}i32" for _ in range(count)) + "]" if count else "empty([0]i32)"

    def input(self):
        n, m = self.random.choice((0, 1, 2, 3, 5)), self.random.choice(self.widths)
        rows = "[" + ", ".join(self.numbers(m) for _ in range(n)) + "]" if n * m else f"empty([{n}][{m}]i32)"
        return f"{self.numbers(n)} {rows} {self.numbers(m)}"
