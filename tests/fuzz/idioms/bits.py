"""Numbers of 8, 16 and 32 bits, signed and not, converted forth and back, in rows: in maps, sums, histograms, scans, loops, filters
and stencils, where kernels compute them in as few bits as hold them."""
import random

from choices import Choices

TYPES = ("u8", "i8", "u16", "i16", "i32", "u32", "i64")
INPUTS = ("u8", "i8", "u16", "i16", "i32")


class BitsGenerator(Choices):
    expected = None
    may_fail = False

    def __init__(self, seed):
        super().__init__(random.Random(seed))
        self.inputs = [self.one_of(*INPUTS), self.one_of(*INPUTS)]
        self.widths = (0, 1, 3, 16, 17, 40)

    def widen(self):
        self.widths = (100, 300)

    def constant(self, type_):
        return self.one_of("0", "1", "2", "3", "7", "15", "100", "127", f"({type_}.i64 255)", f"({type_}.i64 (-1))", f"({type_}.i64 (-128))")

    def atom(self, type_, atoms):
        text, of = self.random.choice(atoms)
        return text if of == type_ else f"({type_}.{of} {text})"

    def number(self, type_, atoms, depth=3):
        """Of the type, from names with their types."""
        if depth == 0:
            return self.constant(type_) if self.random.random() < 0.2 else self.atom(type_, atoms)
        part = lambda: self.number(type_, atoms, depth - 1)
        other = self.one_of(*TYPES)
        bits = int(type_[1:])
        return self.any_of(
            lambda: f"({part()} {self.one_of('+', '-', '*', '&', '|', '^')} {part()})", lambda: f"({part()} {self.one_of('+', '-', '&')} {part()})",
            lambda: f"({type_}.{other} {self.number(other, atoms, depth - 1)})" if other != type_ else part(),
            lambda: f"({type_}.{other} {self.number(other, atoms, depth - 1)})" if other != type_ else part(),
            lambda: f"({type_}.{other} {self.number(other, atoms, depth - 1)})" if other != type_ else part(),
            lambda: f"({part()} {self.one_of('<<', '>>')} {self.random.randrange(min(bits, 9))})",
            lambda: f"({part()} {self.one_of('/', '%', '//', '%%')} {self.one_of('2', '3', '7', '16')})",
            lambda: f"({part()} {self.one_of('<<', '>>')} {part()})", lambda: f"({part()} {self.one_of('<<', '>>')} ({part()} & {self.one_of('1', '3', '7')}))",
            lambda: f"({part()} {self.one_of('/', '%', '//', '%%')} ({self.one_of('1', '2')} << ({part()} & 3)))",
            lambda: f"({part()} {self.one_of('/', '%', '//', '%%')} ({self.power(type_, atoms)}))",
            lambda: self.of_float(type_, atoms, depth - 1), lambda: f"({part()} & {self.one_of('1', '3', '15', '127')})", lambda: f"({type_}.{self.one_of('min', 'max')} {part()} {part()})",
            lambda: f"({type_}.{self.one_of('abs', 'sgn')} {part()})", lambda: f"(if {self.condition(atoms, depth - 1)} then {part()} else {part()})",
            lambda: f"({type_}.bool ({self.condition(atoms, depth - 1)}))", lambda: f"(let z = {part()} in z {self.one_of('+', '*', '-')} z)")

    def of_float(self, type_, atoms, depth):
        f = self.one_of("f16", "f32", "f32", "f64")
        return self.one_of(f"({type_}.{f} {self.real(f, atoms, depth)})",
                         f"(if {self.real(f, atoms, depth)} {self.one_of('<', '<=', '==', '!=')} {self.real(f, atoms, depth)} then 3 else {self.constant(type_)})",
                         f"({type_}.bool ({f}.{self.one_of('isnan', 'isinf')} {self.real(f, atoms, depth)}))")

    def real(self, type_, atoms, depth):
        """A float, by operations that are rounded in one way: quotients with NaN and infinities, no products in sums."""
        if depth <= 0:
            return self.one_of(self.atom(type_, atoms), self.atom(type_, atoms), f"({self.one_of('0.5', '-1.5', '6e4', '-0.0', '3', '1e-7')} : {type_})", f"{type_}.nan", f"{type_}.inf")
        part = lambda: self.real(type_, atoms, depth - 1)
        other = self.one_of("f16", "f32", "f64", "i32", "i8", "u64")
        of = self.real(other, atoms, depth - 1) if other[0] == "f" else self.number("i64", atoms, depth - 1) if other == "u64" else self.number(other, atoms, depth - 1)
        return self.any_of(lambda: f"({part()} {self.one_of('/', '/', '+', '-')} {part()})", lambda: f"({type_}.{self.one_of('min', 'max')} {part()} {part()})",
                           lambda: f"({type_}.{self.one_of('floor', 'trunc', 'abs', 'neg', 'round', 'ceil', 'sgn')} {part()})",
                           lambda: f"(if {self.condition(atoms, depth - 1)} then {part()} else {part()})",
                           lambda: f"({type_}.{other} {of})" if other not in (type_, "u64") else f"({type_}.u64 (u64.i64 {self.number('i64', atoms, depth - 1)}))")

    def power(self, type_, atoms):
        """Of two, which loops may make."""
        spans = [name for name, of in atoms if name == "d" and of == type_]
        return self.one_of(*spans, "2 * d", "d * 4") if spans else self.one_of("8", "32", "64")

    def condition(self, atoms, depth):
        type_ = self.one_of(*TYPES)
        return f"{self.number(type_, atoms, depth)} {self.one_of('<', '==', '!=', '<=')} {self.number(type_, atoms, depth)}"

    def result(self):
        """Of a row, as one i64."""
        a, b = self.inputs
        t, u = self.one_of(*TYPES), self.one_of(*TYPES)
        scope = [("k", a), ("k", a), ("s", "i32")]
        x = scope + [("x", a), ("y", b)] * 2
        f = lambda: self.number(t, x)
        lets = self.one_of("", f"let z: {u} = {self.number(u, scope)} ")
        if lets:
            x = x + [("z", u)] * 3
        op, neutral = self.one_of(("(+)", "0"), (f"{t}.max", f"{t}.lowest"), ("(^)", "0"), (f"{t}.min", f"{t}.highest"))
        hash_ = lambda row, of: f"i64.sum (map2 (\\v i -> i64.{of} v * (i + 1)) ({row}) (iota m))"
        near = lambda: self.one_of("i", "((i + 1) % m)", "(i64.max 0 (i - 1))", "(m - 1 - i)")
        cells = scope + [(f"xs[{near()}]", a), (f"ys[{near()}]", b)] * 2
        return lets + "in " + self.any_of(
            lambda: hash_(f"map2 (\\x y -> {f()}) xs ys", t), lambda: hash_(f"map2 (\\x y -> {f()}) xs ys", t),
            lambda: f"i64.{t} (reduce {op} {neutral} (map2 (\\x y -> {f()}) xs ys))", lambda: f"i64.{t} (reduce {op} {neutral} (map2 (\\x y -> {f()}) xs ys))",
            lambda: hash_(f"scan {op} {neutral} (map2 (\\x y -> {f()}) xs ys)", t),
            lambda: f"i64.{t} (loop r = 0 for i < m do let x = xs[i] let y = ys[i] in r {self.one_of('+', '^', '*3+', '-')} {f()})",
            lambda: f"i64.{t} (loop r = 0 for i < m do let x = xs[i] let y = {b}.{t} r in {f()})" if b != t else "7",
            lambda: self.spans(t, x, hash_), lambda: self.spans(t, x, hash_),
            lambda: hash_(f"hist {op} {neutral} m (map2 (\\x y -> i64.{t} {f()} % i64.max 1 m) xs ys) (map2 (\\x y -> {f()}) xs ys)", t),
            lambda: hash_(f"tabulate m (\\i -> {self.number(t, cells)})", t),
            lambda: f"let q = filter (\\(x, y) -> {self.condition(x, 2)}) (zip xs ys) in length q + i64.sum (map (\\(x, y) -> i64.{t} {f()}) q)",
            lambda: f"i64.sum (map2 (\\x y -> i64.bool ({self.condition(x, 3)})) xs ys)",
            lambda: f"i64.i32 (i32.sum (map2 (\\x y -> i32.{t} {f()}) xs ys))" if t != "i32" else "3",
            lambda: hash_(f"loop r = map2 (\\x y -> {f()}) xs ys for _t < 3 do map2 (\\v x -> let y = {b}.i32 s in v + {f()}) r xs", t)
            if b != "i32" else "8")

    def spans(self, type_, scope, hash_):
        """A loop whose span doubles, or halves."""
        first, step = self.one_of(("1", "d * 2"), ("1", "d << 1"), ("16", "d / 2"), ("1", "2 * d"))
        element = self.number(type_, scope + [("d", type_)] * 4)
        return self.one_of(
            f"i64.{type_} (loop (r, d: {type_}) = (0, {first}) for _t < 4 do (r + reduce (^) 0 (map2 (\\x y -> {element}) xs ys), {step})).0",
            hash_(f"map2 (\\x y -> (loop (r, d: {type_}) = (0, {first}) for _t < 4 do (r ^ {element}, {step})).0) xs ys", type_),
            hash_(f"(loop (r: [m]{type_}, d: {type_}) = (replicate m 1, {first}) for _t < 4 do (map3 (\\v x y -> v + {element}) r xs ys, {step})).0", type_),
            hash_(f"tabulate m (\\i -> let x = xs[i] let y = ys[i] let d : {type_} = 1 << {type_}.i64 (i & 3) in {element})", type_))

    def program(self):
        return [self.result() for _ in range(self.one_of(1, 2, 3))], None

    def text(self, results, _):
        a, b = self.inputs
        body = ",\n    ".join(f"({r if r.startswith('let') else r[3:]})" for r in results)
        return (f"entry main [n] [m] (ks: [n]{a}) (xss: [n][m]{a}) (yss: [n][m]{b}) =\n  map3 (\\k xs ys -> let s = i32.{a} k in\n    ({body})) ks xss yss\n"
                .replace(f"i32.{a} k" if a == "i32" else "\0", "k") + "")

    def definitions(self):
        return ""

    def numbers(self, type_, count):
        bits, signed = int(type_[1:]), type_[0] == "i"
        low, high = (-(1 << (bits - 1)), (1 << (bits - 1)) - 1) if signed else (0, (1 << bits) - 1)
        ends = [low, high, 0, 1, low + 1, high - 1, high // 2] + ([-1, -2] if signed else [254, 128])
        value = lambda: self.random.choice(ends) if self.random.random() < 0.4 else self.random.randint(low, high)
        return "[" + ", ".join(f"{value()}{type_}" for _ in range(count)) + "]" if count else f"empty([0]{type_})"

    def matrix(self, type_, n, m):
        return "[" + ", ".join(self.numbers(type_, m) for _ in range(n)) + "]" if n * m else f"empty([{n}][{m}]{type_})"

    def input(self):
        n, m = self.random.choice((1, 2, 3, 5)), self.random.choice(self.widths)
        a, b = self.inputs
        return f"{self.numbers(a, n)} {self.matrix(a, n, m)} {self.matrix(b, n, m)}"
