"""What idioms are made of: arrays, places in them, numbers; and programs of statements."""
import random

from choices import Choices
from programs import entry_text

TYPES = ("i32", "i32", "u8", "i16", "i64", "f32", "f64")
OTHER_TYPES = ("i8", "u16", "u32", "u64")
WIDTHS = (0, 1, 2, 3, 5, 17, 40, 130, 700)
ROWS = (0, 1, 2, 3, 5, 16, 33)
REDUCTIONS = {
    "int": (("(+)", "0"), ("{}.max", "{}.lowest"), ("{}.min", "{}.highest"), ("(^)", "0"),
            ("(*)", "1"), ("(\\a b -> if b == 0 then a else b)", "0")),
    "float": (("{0}.max", "(-{0}.inf)"), ("{0}.min", "{0}.inf"), ("(+)", "0")),
}


class Words(Choices):
    expected = None
    may_fail = False  # the interpreter tells

    def __init__(self, seed, _depth=4):
        super().__init__(random.Random(seed))
        self.arrays = [("xs", "i32", ("n",)), ("ys", "u8", ("m",)), ("zs", "i16", ("s",)),
                       ("xss", "i32", ("n", "m")), ("ws", "f32", ("n",)),
                       ("image", "u8", ("n", "m", "3"))]
        self.scalars = [("k", "i32")]
        self.widths, self.rows, self.most = WIDTHS, ROWS, 3000
        self.types = TYPES + (self.pick(OTHER_TYPES),)

    def widen(self):
        """Arrays that CPUs cut into chunks."""
        if self.chance(0.3):  # rows a multiple of 4096 bytes apart, or nearly
            self.widths, self.rows, self.most = (16, 17, 40), (1023, 1024, 2048), 90000
            return
        self.widths, self.rows, self.most = (2000, 5001, 30000), (1, 2, 3, 7), 60000

    def type(self):
        return self.pick(self.types)

    def array(self, rank=1, shape=None):
        """An array, the last ones more often."""
        found = [a for a in self.arrays if len(a[2]) == rank and shape in (None, a[2])]
        return found[-1] if self.chance(0.4) else self.pick(found)

    # ---- numbers

    def value(self, type_, atoms, depth=2):
        """An expression over atoms, which are pairs of a text and its type."""
        if depth == 0 or self.chance(0.2):
            return self.atom(type_, atoms)
        a, b = self.value(type_, atoms, depth - 1), self.value(type_, atoms, depth - 1)
        kind = self.random.randrange(8)
        if kind == 0 and a != b:
            x, y = self.value(type_, atoms, 0), self.value(type_, atoms, 0)
            return f"(if {x} {self.pick(('<', '<=', '==', '>'))} {y} then {a} else {b})"
        if kind == 1:
            return f"({type_}.{self.pick(('min', 'max'))} {a} {b})"
        if type_[0] == "f":
            return f"({a} * 0.5 {self.pick(('+', '-'))} {b})"
        if kind == 2:
            by = self.pick((2, 3, 7, 8, 10))
            return f"({a} {self.pick(('/', '%', '//', '%%'))} {by})"
        if kind == 3:
            return f"({a} {self.pick(('/', '%'))} (1 + ({b} & 15)))"
        if kind == 4:
            return f"({a} {self.pick(('<<', '>>'))} {self.pick((1, 2, 3))})"
        return f"({a} {self.pick(('+', '-', '*', '^', '&', '|'))} {b})"

    def atom(self, type_, atoms):
        if self.chance(0.15):
            return f"({self.random.randint(0, 9)})"
        text, of = self.pick(atoms)
        return text if of == type_ else f"({type_}.{of} {text})"

    def comparison(self, atoms):
        type_ = self.pick(("i32", "i64", "u8"))
        ops = ("<", "<=", "==", "!=", ">", ">=")
        first = f"{self.value(type_, atoms, 1)} {self.pick(ops)} {self.value(type_, atoms, 1)}"
        if self.chance(0.3):
            second = f"{self.value(type_, atoms, 0)} {self.pick(ops)} {self.value(type_, atoms, 0)}"
            return f"({first} {self.pick(('&&', '||'))} {second})"
        return f"({first})"

    def reduction(self, type_):
        op, neutral = self.pick(REDUCTIONS["float" if type_[0] == "f" else "int"])
        return op.format(type_), neutral.format(type_)

    # ---- places

    def place(self, i, n):
        """An index below n (which is not 0), from an index i below n."""
        c = self.pick((1, 2, 3, 16))
        return self.pick((
            i, i, f"i64.max 0 ({i} - {c})", f"i64.min ({n} - 1) ({i} + {c})",
            f"({i} + {c}) % {n}", f"({i} - {c}) % {n}", f"{n} - 1 - {i}", f"{i} * {c} % {n}",
            f"{i} / {c}", f"(if {i} < {c} then {i} else {i} - {c})",
            f"({i} ^ 1) % {n}"))

    def load(self, array, i):
        """An element near place i of a vector whose size is that of the index space."""
        name, _, (dim,) = array
        n = size(dim)
        if self.chance(0.35):
            at = f"{i} {self.pick(('+', '-'))} {self.pick((1, 2, 5))}"
            other = self.random.randint(0, 9)
            return f"(if {at} >= 0 && {at} < {n} then {name}[{at}] else {other})"
        return f"{name}[{self.place(i, n)}]"

    def any_load(self, i):
        """An element of any vector, at a place that follows from i or from data."""
        name, type_, (dim,) = self.array()
        n = size(dim)
        at = self.pick((f"{i} % i64.max 1 {n}", f"({i} / 2) % i64.max 1 {n}"))
        return f"(if {n} == 0 then 1 else {name}[{at}])", type_

    def atoms(self, i, dim):
        found = [(i, "i64")] + self.scalars
        for _ in range(self.random.randint(1, 3)):
            array = self.array(shape=(dim,))
            found.append((self.load(array, i), array[1]))
        if self.chance(0.3):
            found.append(self.any_load(i))
        return found

    # ---- programs

    def statement(self):
        """A text, the type of its elements and its shape."""
        raise NotImplementedError

    def number(self):
        name, type_, (dim,) = self.array()
        op, neutral = self.reduction(type_)
        exp = self.pick((f"reduce {op} {neutral} {name}",
                         f"if {size(dim)} == 0 then 0 else {name}[{size(dim)} / 2]",
                         f"{type_}.i64 (length (filter (\\x -> x > 3) {name}))"))
        return exp, type_

    def program(self):
        lets = []
        for _ in range(self.random.randint(3, 8)):
            if self.chance(0.12):
                exp, type_ = self.number()
                name, shape = self.fresh("q"), ()
                self.scalars.append((name, type_))
            else:
                exp, type_, shape = self.statement()
                name = self.fresh("v")
                self.arrays.append((name, type_, shape))
            lets.append((name, text_of(type_, shape), exp))
        own = lets[-self.random.randint(1, 3):]
        return lets, [(name, type_) for name, type_, _ in own]

    def text(self, lets, results):
        return entry_text("(xs: [n]i32) (ys: [m]u8) (zs: [n * m]i16) (xss: [n][m]i32) (ws: [n]f32) "
                          "(image: [n][m][3]u8) (k: i32)", lets, results)

    def definitions(self):
        return ""

    def input(self):
        n, m = self.pick(self.widths), self.pick(self.rows)
        while n * m > self.most:
            n //= 2
        low = self.pick((-100, -2, 0))
        between = lambda low, high: lambda: self.random.randint(low, high)
        quarter = lambda: self.random.randint(low, 100) / 4
        return " ".join([array_text((n,), "i32", between(low, 300)), array_text((m,), "u8", between(0, 255)),
                         array_text((n * m,), "i16", between(low, 300)), array_text((n, m), "i32", between(low, 9)),
                         array_text((n,), "f32", quarter), array_text((n, m, 3), "u8", between(0, 255)),
                         f"{self.random.randint(-5, 9)}i32"])


def array_text(shape, type_, number):
    if not shape:
        return f"{number()}{type_}"
    if 0 in shape:
        return "empty(" + "".join(f"[{d}]" for d in shape) + f"{type_})"
    return "[" + ", ".join(array_text(shape[1:], type_, number) for _ in range(shape[0])) + "]"


def size(dim):
    return "(n * m)" if dim == "s" else dim


def text_of(type_, shape):
    return "".join(f"[{'n * m' if d == 's' else d}]" for d in shape) + type_
