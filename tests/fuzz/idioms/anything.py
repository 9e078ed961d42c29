"""Expressions of any type in any place: numbers of all widths, tuples, records and sum types, arrays of them
and of arrays, made by whatever makes one.  A type is ("i32",) or the like, ("tuple", T..), ("record", T..),
("option", T), ("either", T, U), ("array", size, T).  Sizes are names; those that programs find out (lengths of
filtered arrays, numbers of rounds) are as good as those of the inputs, within loops and maps as on the host.

A budget bounds an expression, and the sizes around it how much its parallel parts may be repeated."""
import random

from choices import Choices
from idioms.anything_arrays import Arrays
from idioms.terms import Scope, bracketed, text_of

WHOLE = ("i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64")
FLOATS = ("f16", "f32", "f64")
BORDERS = (0, 1, 2, 3, 5, 15, 16, 17, 31, 32, 33, 63, 64, 65, 127, 128, 129, 255, 256, 257, 1000, 1023, 1025)

DEFINITIONS = """type opt 'a = #some a | #none
def first_of 'a (d: a) (x: opt a) : a = match x case #some v -> v case #none -> d
def twice 'a (f: a -> a) (x: a) : a = f (f x)
def fold 'a 'b [n] (f: b -> a -> b) (ne: b) (xs: [n]a) : b = loop r = ne for x in xs do f r x
def at 'a [n] (d: a) (xs: [n]a) (i: i64) : a = if n == 0 then d else xs[i % n]
def fit 'a [n] (k: i64) (d: a) (xs: [n]a) : [k]a = tabulate k (\\i -> if i < n then xs[i] else d)
def mapi 'a 'b [n] (f: i64 -> a -> b) (xs: [n]a) : [n]b = map2 f (iota n) xs
def pairs 'a 'b [n] (xs: [n]a) (ys: [n]b) : [n](a, b) = zip xs ys
def by_turns 'a [n] (xs: [n]a) (ys: [n]a) : [n]a = map3 (\\i x y -> if i % 2 == 0 then x else y) (iota n) xs ys
def iterate_all 'a [n] (k: i64) (f: [n]a -> [n]a) (xs: [n]a) : [n]a = loop xs for _i < k do f xs
"""


class AnythingGenerator(Arrays, Choices):
    expected = None
    may_fail = False

    def __init__(self, seed, _depth=4):
        super().__init__(random.Random(seed))
        self.fuel = 0
        self.whole = self.random.sample(WHOLE, 3) + ["i32"]
        self.prims = self.whole + ["bool"] + ([self.pick(FLOATS)] if self.chance(0.5) else [])
        self.wide = self.chance(0.5)
        self.widths, self.rows = BORDERS if self.wide else BORDERS[:11], (0, 1, 2, 3, 4, 7, 16, 17)
        self.helpers = []

    def widen(self):
        self.widths, self.rows = (2000, 5001, 30000), (1, 2, 3)

    def fresh(self, stem):
        self.names += 1
        return f"{stem}_{self.names}"

    # ---- types

    def prim(self):
        return (self.pick(self.prims),)

    def flat(self, depth=2):
        """A type without arrays."""
        if depth == 0 or self.chance(0.5):
            return self.prim()
        kind = self.pick(("tuple", "tuple", "record", "option", "either"))
        if kind == "option":
            return (kind, self.flat(depth - 1))
        if kind == "either":
            return (kind, self.flat(depth - 1), self.flat(depth - 1))
        return (kind,) + tuple(self.flat(depth - 1) for _ in range(2 if kind == "record" else self.pick((2, 2, 3))))

    def any_type(self, scope, depth=2):
        roll = self.random.random()
        if depth == 0 or roll < 0.35:
            return self.flat(1)
        if roll < 0.8:
            size = self.size(scope)
            return ("array", size, self.any_type(scope.times(size), depth - 1) if scope.room(size) else self.flat(1))
        if roll < 0.9:
            return ("tuple", self.any_type(scope, depth - 1), self.any_type(scope, depth - 1))
        return self.flat()

    def size(self, scope):
        return self.pick(list(scope.sizes))

    # ---- operators that may be joined in any grouping, and their neutral elements

    def monoid(self, type_, commutes=False):
        kind = type_[0]
        if kind == "bool":
            return self.pick((("(||)", "false"), ("(&&)", "true"), ("(!=)", "false")))
        if kind in FLOATS:
            return self.pick(((f"{kind}.max", f"(-{kind}.inf)"), (f"{kind}.min", f"{kind}.inf")))
        if kind in WHOLE:
            forms = [("(+)", f"0{kind}"), ("(^)", f"0{kind}"), (f"{kind}.max", f"{kind}.lowest"), (f"{kind}.min", f"{kind}.highest"),
                     ("(|)", f"0{kind}"), ("(&)", f"({kind}.i64 (-1))"), ("(*)", f"1{kind}")]
            if not commutes:
                forms.append((f"(\\a b -> if b == 0{kind} then a else b)", f"0{kind}"))
            return self.pick(forms)
        if kind in ("tuple", "record"):
            return self.joined(type_, commutes)
        if kind == "option":
            return self.optional(type_, commutes)
        if kind == "array":
            made = self.monoid(type_[2], commutes)
            if not made:
                return None
            op, neutral = made
            return f"(map2 {op})", f"(replicate {type_[1]} {neutral})"
        return None  # either

    def optional(self, type_, commutes):
        made = self.monoid(type_[1], commutes)
        if not made:
            return None
        a, b, x, y = (self.fresh(s) for s in "abxy")
        t = text_of(type_)
        both = f"#some {x}" if not commutes and self.chance(0.5) else f"#some ({made[0]} {x} {y})"
        return (f"(\\({a}: {t}) ({b}: {t}) : {t} -> match ({a}, {b}) case (#none, _) -> {b} case (_, #none) -> {a} "
                f"case (#some {x}, #some {y}) -> {both})", f"((#none) : {t})")

    def joined(self, type_, commutes):
        parts = [self.monoid(t, commutes) for t in type_[1:]]
        if None in parts:
            return None
        a, b = self.fresh("p"), self.fresh("q")
        t = text_of(type_)
        names = ("a", "b") if type_[0] == "record" else [str(i) for i in range(len(parts))]
        values = [f"{op} {a}.{f} {b}.{f}" for (op, _), f in zip(parts, names)]
        return f"(\\({a}: {t}) ({b}: {t}) : {t} -> {self.built(type_, values)})", self.built(type_, [ne for _, ne in parts])

    def built(self, type_, values):
        if type_[0] == "record":
            return f"{{a = {values[0]}, b = {values[1]}}}"
        return "(" + ", ".join(values) + ")"

    # ---- expressions

    def exp(self, scope, type_):
        """An expression of the type, in brackets."""
        found = [name for name, t in scope.vars if t == type_]
        if found and (self.fuel < 1 or self.chance(0.3)):
            return self.pick(found[-3:] if self.chance(0.6) else found)
        if self.fuel < 1:
            return self.leaf(scope, type_)
        mine, self.fuel = self.fuel, self.fuel * self.random.uniform(0.3, 0.65)
        text = None
        for _ in range(12):
            text = text or self.pick(self.forms(type_))(scope, type_)
        self.fuel = mine
        return f"({text})" if text else self.leaf(scope, type_)

    def forms(self, type_):
        common = [self.branch, self.bound, self.bound, self.rounds, self.two_rounds, self.matched, self.part, self.element, self.reduced,
                  self.reduced, self.opened, self.folded, self.called]
        kind = type_[0]
        if kind == "array":
            return common + 2 * [self.mapped, self.mapped, self.mapped2, self.tabulated, self.scanned] + \
                [self.moved, self.scattered, self.counted, self.updated, self.changed, self.cut, self.filtered, self.turned, self.unzipped,
                 self.strided, self.grown, self.put, self.partitioned]
        if kind in ("tuple", "record", "option", "either"):
            return common + 3 * [self.made]
        return common + 6 * [self.operation] + [self.tested] * (2 if kind == "bool" else 0)

    def leaf(self, scope, type_):
        kind = type_[0]
        if kind == "bool":
            return self.pick(("true", "false", f"({self.leaf(scope, ('i64',))} % 3 == 1)", f"({self.leaf(scope, ('i64',))} > 2)"))
        if kind in FLOATS:
            if self.chance(0.5):
                return f"({kind}.i64 ({self.leaf(scope, ('i64',))} & 63))"
            return f"{self.random.randint(0, 9)}{kind}"
        if kind in WHOLE:
            numbers = [n for n, t in scope.vars if t[0] in WHOLE]
            if numbers and self.chance(0.7):
                return self.as_type(*self.pick([v for v in scope.vars if v[1][0] in WHOLE]), kind)
            return f"{self.random.randint(0, 9)}{kind}"
        if kind == "array":
            if self.chance(0.3):
                return f"(replicate {type_[1]} {self.leaf(scope, type_[2])})"
            i = self.fresh("i")
            return f"(tabulate {type_[1]} (\\{i} -> {self.leaf(scope.with_(i, ('i64',)), type_[2])}))"
        if kind == "option":
            if self.chance(0.5):
                return f"((#some {self.leaf(scope, type_[1])}) : {text_of(type_)})"
            return f"((#none) : {text_of(type_)})"
        if kind == "either":
            side = self.pick((1, 2))
            return f"((#{'left' if side == 1 else 'right'} {self.leaf(scope, type_[side])}) : {text_of(type_)})"
        return self.built(type_, [self.leaf(scope, t) for t in type_[1:]])

    def as_type(self, text, type_, kind):
        return text if type_[0] == kind else f"({kind}.{type_[0]} {text})"

    def number(self, scope):
        """An i64 of any value."""
        t = (self.pick(self.whole),)
        return self.as_type(self.exp(scope, t), t, "i64")

    def few(self, scope):
        """A small number that is not negative."""
        return self.pick(("2", "3", "1", "0", f"({self.number(scope)} & 3)", f"({self.number(scope)} & 3)"))

    def operation(self, scope, type_):
        kind = type_[0]
        a = self.exp(scope, type_)
        if kind == "bool":
            return self.pick((f"!{a}", f"{a} && {self.exp(scope, type_)}", f"{a} || {self.exp(scope, type_)}", f"{a} != {self.exp(scope, type_)}"))
        if kind in FLOATS:
            return self.pick((f"{kind}.min {a} {self.exp(scope, type_)}", f"{kind}.max {a} {self.exp(scope, type_)}", f"{a} * 0.5",
                              f"-{a}", f"{kind}.i64 ({self.number(scope)} & 63)", f"{a} + 1"))
        roll = self.random.randrange(8)
        if roll == 0:
            return f"{a} {self.pick(('/', '%', '//', '%%'))} (1 + ({self.exp(scope, type_)} & 15))"
        if roll == 1:
            return f"{a} {self.pick(('<<', '>>'))} {self.pick((1, 2, 3))}"
        if roll == 2:
            of = self.prim()
            if of[0] == "bool" or of[0] in WHOLE:
                return f"{kind}.{of[0]} {self.exp(scope, of)}"
            return f"{kind}.{of[0]} ({of[0]}.max (-9) ({of[0]}.min 9 {self.exp(scope, of)}))" if kind[0] == "i" else None
        if roll == 3:
            return f"{kind}.{self.pick(('min', 'max'))} {a} {self.exp(scope, type_)}"
        if roll == 4:
            return f"{kind}.i64 {self.size(scope)} + {a}"
        return f"{a} {self.pick(('+', '-', '*', '^', '&', '|'))} {self.exp(scope, type_)}"

    def tested(self, scope, _type):
        t = self.prim()
        return f"{self.exp(scope, t)} {self.pick(('<', '<=', '==', '!=', '>'))} {self.exp(scope, t)}"

    def condition(self, scope):
        return self.exp(scope, ("bool",))

    def made(self, scope, type_):
        kind = type_[0]
        if kind == "option":
            return f"(#some {self.exp(scope, type_[1])}) : {text_of(type_)}"
        if kind == "either":
            side = self.pick((1, 2))
            return f"(#{'left' if side == 1 else 'right'} {self.exp(scope, type_[side])}) : {text_of(type_)}"
        return self.built(type_, [self.exp(scope, t) for t in type_[1:]])

    # ---- of any type

    def branch(self, scope, type_):
        return f"if {self.condition(scope)} then {self.exp(scope, type_)} else {self.exp(scope, type_)}"

    def bound(self, scope, type_):
        t = self.any_type(scope)
        x = self.fresh("v")
        value = self.exp(scope, t)
        return f"let {x} : {text_of(t)} = {value} in {self.exp(scope.with_(x, t), type_)}"

    def rounds(self, scope, type_):
        if not scope.deeper():
            return None
        x, i = self.fresh("r"), self.fresh("i")
        start = self.exp(scope, type_)
        inner = scope.with_(x, type_).with_(i, ("i64",)).times("3")
        if self.chance(0.3):
            return (f"(loop ({x}: {text_of(type_)}, {i}) = ({start}, 0i64) while {i} < 3 && {self.condition(inner)} do "
                    f"({self.exp(inner, type_)}, {i} + 1)).0")
        return f"loop ({x}: {text_of(type_)}) = {start} for {i} < {self.few(scope)} do {self.exp(inner, type_)}"

    def two_rounds(self, scope, type_):
        if not scope.deeper():
            return None
        t = self.any_type(scope)
        x, y, i = self.fresh("r"), self.fresh("s"), self.fresh("i")
        starts = self.exp(scope, type_), self.exp(scope, t)
        inner = scope.with_(x, type_).with_(y, t).with_(i, ("i64",)).times("3")
        lets = ""
        if self.chance(0.5):
            u = self.any_type(scope)
            z = self.fresh("z")
            lets = f"let {z} : {text_of(u)} = {self.exp(inner, u)} in "
            inner = inner.with_(z, u)
        return (f"(loop ({x}: {text_of(type_)}, {y}: {text_of(t)}) = ({starts[0]}, {starts[1]}) for {i} < {self.few(scope)} do "
                f"{lets}({self.exp(inner, type_)}, {self.exp(inner, t)})).0")

    def matched(self, scope, type_):
        found = [t for _, t in scope.vars if t[0] in ("option", "either")]
        t = self.pick(found) if found and self.chance(0.8) else self.pick((("option", self.flat(1)), ("either", self.flat(1), self.flat(1))))
        x = self.fresh("c")
        value = self.exp(scope, t)
        if t[0] == "option":
            return f"match {value} case #some {x} -> {self.exp(scope.with_(x, t[1]), type_)} case #none -> {self.exp(scope, type_)}"
        return (f"match {value} case #left {x} -> {self.exp(scope.with_(x, t[1]), type_)} "
                f"case #right {x} -> {self.exp(scope.with_(x, t[2]), type_)}")

    def part(self, scope, type_):
        """A component of a tuple or record that there is, or of one that is made."""
        found = [(n, t, i) for n, t in scope.vars if t[0] in ("tuple", "record") for i, u in enumerate(t[1:]) if u == type_]
        if not found:
            return None
        name, t, i = self.pick(found)
        return f"{name}.{'ab'[i] if t[0] == 'record' else i}"

    def element(self, scope, type_):
        found = [(n, t) for n, t in scope.vars if t[0] == "array" and t[2] == type_]
        name = self.pick(found)[0] if found and self.chance(0.8) else None
        if not name:
            size = self.size(scope)
            if not scope.room(size):
                return None
            name = self.exp(scope, ("array", size, type_))
        return f"at {self.leaf(scope, type_)} {name} {self.number(scope)}"

    def reduced(self, scope, type_):
        size, monoid = self.size(scope), self.monoid(type_)
        if not monoid or not scope.room(size):
            return None
        op, neutral = monoid
        return f"reduce {op} {neutral} {self.exp(scope, ('array', size, type_))}"

    def folded(self, scope, type_):
        """A loop through an array."""
        arrays = [(n, t) for n, t in scope.vars if t[0] == "array" and scope.room(t[1])]
        if not arrays or not scope.deeper():
            return None
        name, t = self.pick(arrays)
        r, x = self.fresh("r"), self.fresh("x")
        start = self.exp(scope, type_)
        inner = scope.with_(r, type_).with_(x, t[2]).times(t[1])
        return self.pick((f"loop ({r}: {text_of(type_)}) = {start} for {x} in {name} do {self.exp(inner, type_)}",
                          f"fold (\\({r}: {text_of(type_)}) ({x}: {text_of(t[2])}) -> {self.exp(inner, type_)}) {start} {name}"))

    def any_array(self, scope, of):
        """An array of a length that is not known: its text, and a size as long at most."""
        size = self.size(scope)
        if not scope.room(size):
            return None
        array = self.exp(scope, ("array", size, of))
        x = self.fresh("x")
        form = self.random.randrange(6)
        inner = scope.with_(x, of).times(size)
        a = self.fresh("a")
        if form in (0, 1):
            return f"filter (\\({x}: {text_of(of)}) -> {self.condition(inner)}) {array}", size
        if form == 2:
            return f"(let {a} = {array} in {a}[{self.number(scope)} % ({size} + 1):])", size
        if form == 3:
            return f"(let {a} = {array} in {a}[:({size} + 1) / 2] ++ [{self.exp(scope, of)}])", size
        if form == 4:
            other = self.size(scope)
            if not scope.room(other):
                return None
            return f"(if {self.condition(scope)} then {array} else {self.exp(scope, ('array', other, of))})", size
        return f"(partition (\\({x}: {text_of(of)}) -> {self.condition(inner)}) {array}).{self.pick((0, 1))}", size

    def opened(self, scope, type_):
        of = self.any_type(scope, 1)
        made = self.any_array(scope, of)
        if not made:
            return None
        f, q = self.fresh("f"), self.fresh("q")
        inner = scope.with_(f, ("array", q, of)).sized(q, made[1]).with_(q, ("i64",))
        return f"let {f} : []{bracketed(of)} = {made[0]} let {q} = length {f} let {f} = {f} :> [{q}]{bracketed(of)} in {self.exp(inner, type_)}"

    def called(self, scope, type_):
        """A function of the program."""
        found = [h for h in self.helpers if h[2] == type_]
        if found:
            name, types, _ = self.pick(found)
            return f"{name} " + " ".join(self.exp(scope, t) for t in types)
        x = self.fresh("x")
        if self.chance(0.5):
            return f"twice (\\({x}: {text_of(type_)}) : {text_of(type_)} -> {self.exp(scope.with_(x, type_).times('3'), type_)}) {self.exp(scope, type_)}"
        return f"first_of {self.exp(scope, type_)} {self.exp(scope, ('option', type_))}"

    # ---- what programs give

    def digest(self, type_, x):
        """An i64 of a value."""
        kind = type_[0]
        if kind in FLOATS:
            return f"(i64.{kind} ({kind}.max (-99) ({kind}.min 99 ({x} * 4))))"
        if kind == "bool" or kind in WHOLE:
            return self.as_type(x, type_, "i64")
        y = self.fresh("y")
        if kind == "array":
            inner = self.digest(type_[2], y)
            return f"(reduce (\\a b -> a + b) 0 (map2 (\\i {y} -> {inner} * (2 * i + 1)) (iota {type_[1]}) {x}))"
        if kind == "option":
            return f"(match {x} case #some {y} -> 3 * {self.digest(type_[1], y)} + 1 case #none -> 12345)"
        if kind == "either":
            return f"(match {x} case #left {y} -> 5 * {self.digest(type_[1], y)} case #right {y} -> 7 * {self.digest(type_[2], y)} + 2)"
        names = "ab" if kind == "record" else [str(i) for i in range(len(type_) - 1)]
        return "(" + " + ".join(f"{2 * i + 1} * {self.digest(t, f'{x}.{f}')}" for i, (t, f) in enumerate(zip(type_[1:], names))) + ")"

    def given(self, name, type_):
        """What an entry point gives of a value, and its type; sizes that others do not know are left out."""
        if type_[0] == "array":
            y = self.fresh("y")
            size = type_[1] if type_[1] in ("n", "m") else ""
            return f"map (\\{y} -> {self.digest(type_[2], y)}) {name}", f"[{size}]i64"
        return self.digest(type_, name), "i64"

    def program(self):
        self.types_in = [("array", "n", self.prim()), ("array", "m", self.prim()), ("array", "n", ("array", "m", self.prim())), (self.pick(self.whole),)]
        scope = Scope({"n": 700 if self.wide else 30, "m": 10}, list(zip(("xs", "ys", "xss", "k"), self.types_in)))
        lines, results = [], []
        for _ in range(self.random.randint(2, 5)):
            self.fuel = self.pick((3, 6, 10, 15))
            if self.chance(0.3):
                of = self.any_type(scope, 1)
                made = self.any_array(scope, of)
                if made:
                    f, q = self.fresh("f"), self.fresh("q")
                    lines += [f"let {f} : []{bracketed(of)} = {made[0]}", f"let {q} = length {f}", f"let {f} = {f} :> [{q}]{bracketed(of)}"]
                    scope = scope.with_(f, ("array", q, of)).sized(q, made[1]).with_(q, ("i64",))
                    continue
            t = self.any_type(scope)
            x = self.fresh("v")
            lines.append(f"let {x} : {text_of(t)} = {self.exp(scope, t)}")
            scope = scope.with_(x, t)
        return lines, [v for v in scope.vars if v[0][0] in "vf"]

    def text(self, lines, results):
        given = [self.given(*r) for r in results[-3:]] or [("0i64", "i64")]
        params = " ".join(f"({name}: {text_of(t)})" for name, t in zip(("xs", "ys", "xss", "k"), self.types_in))
        values, types = (", ".join(parts) for parts in zip(*given))
        return "\n".join([f"entry main [n] [m] {params} : ({types}) ="] + ["  " + line for line in lines] + [f"  in ({values})"]) + "\n"

    def definitions(self):
        return DEFINITIONS

    def input(self):
        n, m = self.pick(self.widths), self.pick(self.rows)
        while n * m > 3000 and n < 2000:
            m = self.pick(self.rows)
        return " ".join(self.value(t, {"n": n, "m": m}) for t in self.types_in)

    def value(self, type_, sizes):
        if type_[0] == "array":
            dims, t = [], type_
            while t[0] == "array":
                dims.append(sizes[t[1]])
                t = t[2]
            if 0 in dims:
                return "empty(" + "".join(f"[{d}]" for d in dims) + t[0] + ")"
            return "[" + ", ".join(self.value(type_[2], sizes) for _ in range(dims[0])) + "]"
        if type_[0] == "bool":
            return self.pick(("true", "false"))
        low = -9 if type_[0][0] != "u" else 0
        return f"{self.random.randint(low, 9)}{type_[0]}" if type_[0][0] != "f" else f"{self.random.randint(low, 9)}.0{type_[0]}"
