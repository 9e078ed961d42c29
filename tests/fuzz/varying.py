#!/usr/bin/env python3
"""Random programs around what has no fixed form: arrays whose length a branch or a loop finds out,
assertions around what would fail, conversions between all types, wide tuples, modules; and programs
that must fail, with the check that comes first.

The type of an array of unknown length is VARIED; such an array ends in a checksum.
"""
from programs import NestGenerator, SCALAR_OPS, type_text

VARIED = ("?",)
INTEGERS = ("i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64")
TYPES = INTEGERS + ("f32", "f64", "bool")
WIDE = 11  # components of a tuple

DEFINITIONS = """type choice = #one i32 | #two i32 i32 | #none

def checksum (xs: []i32) : i32 =
  i32.sum (map2 (\\i x -> (i32.i64 i + 1) * (x ^ 5)) (indices xs) xs) + 7 * i32.i64 (length xs)

"""


class VaryingGenerator(NestGenerator):
    def __init__(self, seed, depth=4):
        super().__init__(seed, depth)
        self.modules = []

    def variable(self, scope, type_):
        return super().variable(scope, type_) if type_ != VARIED else None

    def program(self):
        lets, results = super().program()
        scope = [("k", ()), ("xs", ("n",)), ("ys", ("m",)), ("xss", ("n", "m"))]
        name, x, row = self.fresh("v"), self.fresh("x"), self.fresh("r")
        inner, depth = scope + [(row, ("m",)), (x, ())], self.depth - 1
        text = self.pick([
            lambda: f"(map (\\{x} -> {self.summed(scope + [(x, ())], (), depth)}) xs)",
            lambda: f"(map (\\({row}: [m]i32) -> "
                    f"{self.summed(scope + [(row, ('m',))], (), depth)}) xss)",
            lambda: f"(map (\\({row}: [m]i32) -> i32.sum (scan (+) 0 (map (\\{x} -> "
                    f"{self.summed(inner, (), depth - 1)}) {row}))) xss)",
            lambda: self.cut(scope, ("n",), depth),
        ])()
        lets.append((name, ("n",), text))
        return lets, results + [(name, ("n",))]

    # ---- what the nests are made of

    def scalars(self):
        return super().scalars() + [self.summed, self.summed, self.summed, self.counted_up,
                                    self.converted, self.converted, self.asserted, self.matched,
                                    self.wide_loop, self.wide_reduction, self.from_module]

    def vectors(self):
        return super().vectors() + [self.cut, self.cut, self.asserted, self.matched]

    def matrices(self):
        return super().matrices() + [self.asserted, self.matched]

    def summed(self, scope, _type, depth):
        return f"(checksum {self.varied(scope, depth)})"

    def counted_up(self, scope, _type, depth):
        return f"(i32.i64 (length {self.varied(scope, depth)}))"

    def cut(self, scope, type_, depth):
        """An array of unknown length brought to the length that is wanted."""
        name = self.fresh("w")
        filler = self.expression(scope, type_[:1], depth - 1)
        return (f"(let {name} = {self.varied(scope, depth)} ++ {filler} "
                f"in {name}[:{type_[0]}] :> {type_text(type_)})")

    def few(self, scope, depth):
        return self.pick(["2", "3", "(k & 3)", f"({self.expression(scope, (), depth - 1)} & 3)"])

    def small(self, scope, depth):
        return f"(i64.i32 ({self.expression(scope, (), depth - 1)} & 3))"

    # ---- arrays of unknown length

    def varied(self, scope, depth):
        names = [name for name, type_ in scope if type_ == VARIED]
        if names and (depth <= 0 or self.random.random() < 0.4):
            return self.pick(names)
        if depth <= 0:
            return self.pick(["xs", "[k]", "(replicate 0 k)",
                              "(map i32.i64 (iota (i64.i32 (k & 3))))"])
        return self.pick([self.either, self.either, self.of_match, self.grown, self.grown,
                          self.grown_while, self.grown_pair, self.grown_rows, self.kept, self.part,
                          self.together, self.mapped, self.made, self.of_vector,
                          self.asserted_array])(scope, depth - 1)

    def either(self, scope, depth):
        a, b = (self.expression(scope, (), depth - 1) for _ in range(2))
        condition = f"{a} < {b}" if self.random.random() < 0.7 else "k < 1"
        return f"(if {condition} then {self.varied(scope, depth)} else {self.varied(scope, depth)})"

    def choice(self, scope, depth):
        a, b, c = (self.expression(scope, (), depth - 1) for _ in range(3))
        return (f"(if {a} < {b} then #one {a} else if {b} < {c} then #two {c} {b} "
                "else #none : choice)")

    def match(self, scope, depth, make):
        p, q = self.fresh("p"), self.fresh("q")
        return (f"(match {self.choice(scope, depth)} case #one {p} -> {make(scope + [(p, ())])} "
                f"case #two {p} {q} -> {make(scope + [(p, ()), (q, ())])} "
                f"case #none -> {make(scope)})")

    def of_match(self, scope, depth):
        return self.match(scope, depth, lambda inner: self.varied(inner, depth))

    def next_varied(self, scope, name, depth):
        """What a round of a loop makes of an array."""
        other = self.varied(scope, depth)
        return self.pick([f"{name} ++ {other}", f"{other} ++ {name}", f"{name} ++ [k]", other,
                          f"if length {name} > 2 then {name}[1:] else {name} ++ {other}",
                          f"filter (\\x -> x % 3 != 1) {name}", f"reverse {name} ++ {other}",
                          f"map (+ 1) {name}", f"scan (+) 0 {name}", f"{name}[:length {name} / 2]"])

    def grown(self, scope, depth):
        name, index = self.fresh("g"), self.fresh("i")
        inner = scope + [(name, VARIED)]
        return (f"(loop ({name}: []i32) = {self.varied(scope, depth)} "
                f"for {index} < {self.few(scope, depth)} do {self.next_varied(inner, name, depth)})")

    def grown_while(self, scope, depth):
        name = self.fresh("g")
        inner = scope + [(name, VARIED)]
        return (f"((loop ({name}: []i32, i_{name}) = ({self.varied(scope, depth)}, 0i32) "
                f"while i_{name} < 3 && length {name} < 9 do "
                f"({self.next_varied(inner, name, depth)}, i_{name} + 1)).0)")

    def grown_pair(self, scope, depth):
        a, b = self.fresh("g"), self.fresh("h")
        inner = scope + [(a, VARIED), (b, VARIED)]
        first = self.pick([b, self.next_varied(inner, b, depth)])
        second = self.pick([a, self.next_varied(inner, a, depth)])
        return (f"(let ({a}, {b}) = loop ({a}: []i32, {b}: []i32) = ({self.varied(scope, depth)}, "
                f"{self.varied(scope, depth)}) for _{a} < {self.few(scope, depth)} do "
                f"({first}, {second}) in {a} ++ {b})")

    def grown_rows(self, scope, depth):
        name, row, more = self.fresh("m"), self.fresh("r"), self.fresh("w")
        body = self.pick([f"{row} ++ {more}", f"{row}[:length {row} / 2]", f"{more} ++ {row}",
                          f"scan (+) 0 {row} ++ {more}"])
        return (f"(let {more} = {self.varied(scope, depth)} in flatten "
                f"(loop ({name}: [2][]i32) = [{more}, map (+ 1) {more}] for _{name} < 2 do "
                f"map (\\{row} -> {body}) {name}))")

    def kept(self, scope, depth):
        function = self.function(scope, [()], (), depth - 1)
        return f"(filter (\\x -> {function} x < 2) {self.varied(scope, depth)})"

    def part(self, scope, depth):
        name = self.fresh("w")
        cut = self.pick(["[length {0} / 2:]", "[:length {0} / 2]", "[::-1]",
                         "[i64.min 1 (length {0}):]"])
        return f"(let {name} = {self.varied(scope, depth)} in {name}{cut.format(name)})"

    def together(self, scope, depth):
        return f"({self.varied(scope, depth)} ++ {self.varied(scope, depth)})"

    def mapped(self, scope, depth):
        function = self.function(scope, [()], (), depth - 1)
        return self.pick([f"(map {function} {self.varied(scope, depth)})",
                          f"(scan (+) 0 {self.varied(scope, depth)})",
                          f"(map2 {self.function(scope, [(), ()], (), depth - 1)} "
                          f"(map i32.i64 (iota 3)) (replicate 3 k))"])

    def made(self, scope, depth):
        value = self.expression(scope, (), depth - 1)
        return self.pick([f"(replicate {self.small(scope, depth)} {value})",
                          f"(map i32.i64 (iota {self.small(scope, depth)}))", f"[{value}, k]"])

    def of_vector(self, scope, depth):
        return self.expression(scope, (self.size(),), depth)

    def asserted_array(self, scope, depth):
        return self.asserted(scope, VARIED, depth)

    def expression(self, scope, type_, depth):
        if type_ == VARIED:
            return self.varied(scope, depth)
        return super().expression(scope, type_, depth)

    # ---- assertions that hold, around what would fail if they did not

    def asserted(self, scope, type_, depth):
        name = self.fresh("d")
        divisor = f"{self.expression(scope, (), depth - 1)} | 1"
        inner = scope + [(name, ())]
        value = self.expression(inner, type_, depth)
        if type_ == ():
            guarded = self.pick([f"{value} / {name}", f"{value} % {name}", f"{value} // {name}",
                                 f"([{value}, {name}])[i64.i32 ({name} & 1)]"])
        else:
            guarded = f"if 7 / {name} < 9 then {value} else {value}"
        return f"(let {name} = {divisor} in assert ({name} != 0) ({guarded}))"

    def matched(self, scope, type_, depth):
        return self.match(scope, depth, lambda inner: self.expression(inner, type_, depth - 1))

    # ---- conversions

    def converted(self, scope, _type, depth):
        text, current = self.expression(scope, (), depth), "i32"
        for _ in range(self.random.randint(1, 3)):
            wanted = self.pick(TYPES)
            if wanted == current:
                continue
            text, current = f"({wanted}.{current} {text})", wanted
            if wanted in INTEGERS and self.random.random() < 0.3:
                text = f"({text} {self.pick(SCALAR_OPS)} {self.random.randint(1, 100)}{wanted})"
            if wanted in ("f32", "f64") and self.random.random() < 0.3:
                text = f"({wanted}.from_bits ({wanted}.to_bits {text}))"
        return text if current == "i32" else f"(i32.{current} {text})"

    # ---- wide tuples

    def wide_loop(self, scope, _type, depth):
        names = [self.fresh("t") for _ in range(WIDE)]
        inner = scope + [(name, ()) for name in names]
        bodies = [self.pick([self.pick(names), f"{self.pick(names)} + {self.pick(names)}", "k"])
                  for _ in names]
        bodies[self.random.randrange(WIDE)] = self.expression(inner, (), depth - 1)
        inits = ", ".join([str(i) for i in range(WIDE - 1)] +
                          [self.expression(scope, (), depth - 1)])
        tuple_ = f"({', '.join(names)})"
        return (f"(let {tuple_} = loop {tuple_} = ({inits}) "
                f"for _{names[0]} < {self.few(scope, depth)} do ({', '.join(bodies)}) in {' ^ '.join(names)})")

    def wide_reduction(self, scope, _type, depth):
        x, y = self.fresh("x"), self.fresh("y")
        made = [self.pick(["v", f"v + {i}", f"v ^ {i}", f"v * {i}"]) for i in range(WIDE)]
        ops = [self.pick(SCALAR_OPS[:1] + ("^",)) for _ in range(WIDE)]
        combined = ", ".join(f"{x}.{i} {op} {y}.{i}" for i, op in enumerate(ops))
        total = self.fresh("t")
        array = self.expression(scope, (self.size(),), depth)
        fields = " ^ ".join(f"{total}.{i}" for i in range(WIDE))
        return (f"(let {total} = reduce (\\{x} {y} -> ({combined})) ({', '.join('0' * WIDE)}) "
                f"(map (\\v -> ({', '.join(made)})) {array}) in {fields})")

    # ---- modules

    def from_module(self, scope, _type, depth):
        if len(self.modules) < 2:
            self.modules.append((self.fresh("m"), self.random.randint(0, 9), self.closed("x", 2)))
        name, _, _ = self.pick(self.modules)
        argument = self.expression(scope, (), depth)
        return self.pick([f"({name}.apply {argument})", f"({name}.constant * {argument})",
                          f"({name}.fold {self.varied(scope, depth - 1)})"])

    def closed(self, x, depth):
        """A scalar computed from `x` alone."""
        if depth == 0:
            return self.pick([x, str(self.random.randint(0, 9))])
        a, b = self.closed(x, depth - 1), self.closed(x, depth - 1)
        return self.pick([f"({a} {self.pick(SCALAR_OPS)} {b})", f"(if {x} < {b} then {a} else {b})",
                          f"(loop s = {a} for i < 3 do s * 3 + {b})",
                          f"(i32.sum (map (^ {a}) (replicate 3 {b})))", f"(i32.i16 (i16.i32 {a}))"])

    def definitions(self):
        if not self.modules:
            return DEFINITIONS
        lines = ["module type numbers = {\n  val constant : i32\n  val apply : i32 -> i32\n}\n",
                 "module folding (P: numbers) = {\n  def constant = P.constant\n"
                 "  def apply (x: i32) = P.apply x - constant\n"
                 "  def fold (xs: []i32) = i32.sum (map apply xs)\n}\n"]
        for name, constant, function in self.modules:
            lines.append(f"module {name} = folding {{\n  def constant = {constant}i32\n"
                         f"  def apply (x: i32) : i32 = {function}\n}}\n")
        return DEFINITIONS + "\n".join(lines) + "\n"


class FailingGenerator(VaryingGenerator):
    """Programs with one check that certainly fails: in what an assertion guards, whose message is
    then wanted, or by itself."""
    widths = (1, 2, 3, 5)
    K = 99

    def __init__(self, seed, depth=4):
        super().__init__(seed, depth)
        self.expected = "Assertion is false"

    def input(self):
        n, m = (self.pick(self.widths) for _ in range(2))
        rows = [self.numbers_text(m) for _ in range(n)]
        return f"{self.numbers_text(n)} {self.numbers_text(m)} [{', '.join(rows)}] {self.K}i32"

    def numbers_text(self, count):
        return "[" + ", ".join(f"{self.random.randint(-9, 9)}i32" for _ in range(count)) + "]"

    def failing(self, s):
        """A scalar expression that fails as k is K, and the message."""
        return self.pick([(f"({s} / (k - {self.K}))", "division by zero"),
                          (f"({s} % (k - {self.K}))", "division by zero"),
                          (f"(xs[n + i64.i32 k] + {s})", "out of bounds"),
                          (f"(checksum xs[i64.i32 k:] ^ {s})", "out of bounds"),
                          (f"((copy ys with [m + i64.i32 k] = {s})[0])", "out of bounds"),
                          (f"(checksum (map (^ {s}) (map i32.i64 (iota (i64.i32 (80 - k))))))",
                           "negative size"),
                          (f"(checksum (replicate (i64.i32 (80 - k)) {s}))", "negative size"),
                          (f"(loop z = {s} while z == z do z)", None),
                          (f"(assert (k < 50) {s})", "Assertion is false")])

    def bad(self, scope, depth):
        s = self.expression(scope, (), depth)
        text, message = self.failing(s)
        if message and self.random.random() < 0.3:
            self.expected = message
            return text
        condition = self.pick(["k < 90", f"({s} ^ k) == {s}", f"{s} != {s} || k < 90"])
        return f"(assert ({condition}) {text})"

    def certain(self, scope, depth):
        """A scalar that needs the failing expression."""
        x, name = self.fresh("x"), self.fresh("c")
        inner = scope + [(x, ())]
        step = self.expression(inner, (), 0)
        return self.pick([
            lambda: self.bad(scope, depth),
            lambda: f"(checksum (map (\\{x} -> {self.bad(inner, depth)}) xs))",
            lambda: f"(i32.sum (map (\\{x} -> {x} ^ {self.bad(inner, depth)}) ys))",
            lambda: f"(checksum (map (\\r -> checksum (map (\\{x} -> "
                    f"{self.bad(inner, depth)}) r)) xss))",
            lambda: f"(checksum (map (\\r -> i32.sum (scan (+) 0 (map (\\{x} -> {step} ^ "
                    f"{self.bad(inner, depth)}) r))) xss))",
            lambda: f"(loop {x} = k for _{x} < 2 do {x} + {self.bad(inner, depth)})",
            lambda: f"(checksum (loop {name} = [k] for {x} < 3 do "
                    f"{name} ++ [{self.bad(inner, depth)}]))",
            lambda: f"(checksum (map (\\r -> (loop ({name}: [m]i32, i) = (r, 0i32) "
                    f"while i < 3 || {name}[0] < 0 do (scan (+) 0 (map (\\{x} -> "
                    f"{self.bad(inner, depth)}) {name}), i + 1)).0[0]) xss))",
            lambda: f"(if k > 50 then {self.bad(scope, depth)} else k)",
            lambda: f"(checksum (filter (\\{x} -> {self.bad(inner, depth)} > {x}) xs))",
        ])()

    def program(self):
        lets, results = super().program()
        name = self.fresh("v")
        lets.append((name, (), self.certain([("k", ()), ("xs", ("n",)), ("ys", ("m",)),
                                             ("xss", ("n", "m"))], self.depth - 2)))
        return lets, results + [(name, ())]
