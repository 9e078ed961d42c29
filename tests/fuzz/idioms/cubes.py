"""Random programs of cubes and planes: turned, cut, filtered along a dimension, summed, counted by rows, changed.

Dimensions are "a", "b" and "c", none of which is known; a value's shape is a tuple of them.  Three of ten programs
may fail, in an index or a slice without care.
"""
import random

from choices import Choices

TYPES = ("i32", "i32", "u8", "i16", "i64", "f32", "f64", "bool", "f16")
DEFINITIONS = """
def wrap (i: i64) (n: i64) = if n <= 0 then 0 else ((i % n) + n) % n
def clamp (i: i64) (n: i64) = i64.max 0 (i64.min (n - 1) i)
def keep [n] 't (k: i64) (xs: [k]t) (d: t) : [n]t = tabulate n (\\i -> if i < k then xs[i] else d)
type state [p] [q] 't = {at: [p][q]t, last: t, k: i32}

"""


class CubesGenerator(Choices):
    expected = None

    def __init__(self, seed, _depth=4):
        super().__init__(random.Random(seed))
        self.fuel = 0
        self.arrays = [("x3", "i32", ("a", "b", "c")), ("x2", "i32", ("a", "b")), ("y2", "u8", ("b", "c")), ("z2", "f32", ("a", "c")),
                       ("v", "i16", ("b",)), ("w", "i64", ("c",)), ("u", "i32", ("a",))]
        self.may_fail = self.random.random() < 0.3
        self.sizes = (0, 1, 2, 3, 4, 5, 7, 9, 17, 33)

    def widen(self):
        self.sizes = (1, 2, 16, 17, 33, 64, 70)

    def fresh(self, stem="t"):
        return super().fresh(stem)

    # ---- numbers

    def converted(self, to, from_, text):
        if to == from_:
            return text
        if to == "bool":
            return f"({text} > {from_}.i32 2)"
        if from_ == "bool":
            return f"({to}.bool {text})"
        if from_[0] == "f" and to[0] in "iu":  # exact, and in range
            return f"({to}.i64 (i64.{from_} {text} % 64))"
        if to[0] == "f" and from_[0] in "iu":
            return f"({to}.i64 (i64.{from_} {text} % 32))"
        return f"({to}.{from_} {text})"

    def joined(self, type_, x, y):
        """Exact for floats, and small."""
        if type_ == "bool":
            return f"({x} {self.one_of('&&', '||', '!=', '==')} {y})"
        if type_[0] == "f":
            return self.one_of(f"({type_}.min {x} {y})", f"({type_}.max {x} ({y}))", f"({type_}.abs ({x} - {y}) % 32)", f"(({x} + {y}) % 32)")
        return self.one_of(f"({x} + {y})", f"({x} * {y})", f"({x} - {y})", f"({type_}.min {x} {y})", f"({x} ^ {y})", f"({x} * 3 - {y})")

    def constant(self, type_):
        n = self.random.randint(0, 9)
        return self.one_of("true", "false") if type_ == "bool" else f"({type_}.i32 {n})"

    def place(self, i, dim, others):
        """An index along the dimension, out of an index of it, and others."""
        c = self.random.randint(1, 3)
        inside = self.one_of(i, i, i, f"({dim} - 1 - {i})", f"clamp ({i} + {c}) {dim}", f"clamp ({i} - {c}) {dim}", f"wrap ({i} + {c}) {dim}",
                           f"({i} / 2)", f"wrap ({i} - {c}) {dim}", "0", f"({dim} - 1)", f"wrap ({i} * 2 + k64) {dim}",
                           f"(if {i} > 0 then {i} - 1 else {i})", f"(if {i} < {dim} - 1 then {i} + 1 else 0)")
        if others and self.chance(0.1):
            inside = f"wrap {self.random.choice(others)} {dim}"
        if self.may_fail and self.chance(0.12):
            return self.one_of(f"({i} + 1)", f"({i} - 1)", f"({i} * 2)", f"(i64.i32 kk)")
        return inside

    def read(self, type_, indices):
        """An element of an array; indices are pairs of a name and its dimension."""
        dims = {d: i for i, d in indices}
        found = [a for a in self.arrays if all(d in dims for d in a[2])]
        near = [a for a in found if len(a[2]) == len(indices)] or found
        if not found:
            return self.constant(type_)
        name, of, shape = self.random.choice(near if self.chance(0.6) else found)
        names = [i for i, _ in indices]
        text = ", ".join(self.place(dims[d], d, names) for d in shape)
        return self.converted(type_, of, f"{name}[{text}]")

    def number(self, type_, indices, atoms=(), depth=2):
        self.fuel -= 1
        if depth == 0 or self.fuel < 0:
            if atoms and self.chance(0.5):
                return self.random.choice(atoms)
            return self.read(type_, indices) if self.chance(0.75) else self.leaf(type_, indices)
        part = lambda: self.number(type_, indices, atoms, depth - 1)
        return self.any_of(
            lambda: self.joined(type_, part(), part()), lambda: self.joined(type_, part(), part()),
            lambda: f"(if {self.condition(indices)} then {part()} else {part()})",
            lambda: self.summed(type_, indices), lambda: self.looped(type_, indices, part))

    def leaf(self, type_, indices):
        i = self.random.choice(indices)[0] if indices else "k64"
        return self.one_of(self.constant(type_), self.converted(type_, "i32", "kk"), self.converted(type_, "i64", i))

    def condition(self, indices):
        i, d = self.random.choice(indices) if indices else ("k64", "a")
        return self.one_of(f"{i} % 2 == 0", f"{i} < {d} - 1", f"{i} > 1", "kk > 2", f"{self.read('i32', indices)} > 3", f"({self.read('bool', indices)})")

    def summed(self, type_, indices):
        free = [d for d in "abc" if d not in [x for _, x in indices]]
        j = self.fresh("j")
        op, zero = self.operator(type_)
        if free and self.chance(0.7):
            d = self.random.choice(free)
            return f"(reduce {op} {zero} (tabulate {d} (\\{j} -> {self.read(type_, indices + [(j, d)])})))"
        if not indices:
            return self.constant(type_)
        at = self.random.randrange(len(indices))
        i, d = indices[at]
        near = indices[:at] + [(f"({self.one_of('clamp', 'wrap')} ({i} + {j} - {self.random.randint(0, 2)}) {d})", d)] + indices[at + 1:]
        return f"(reduce {op} {zero} (tabulate {self.random.randint(2, 4)} (\\{j} -> {self.read(type_, near)})))"

    def looped(self, type_, indices, part):
        s, t = self.fresh("s"), self.fresh("it")
        i, d = self.random.choice(indices) if indices else ("k64", "a")
        times = self.one_of("3", f"(wrap {i} 4)", d, "(i64.i32 (kk & 3))")
        value = self.joined(type_, s, self.number(type_, indices, (s,), 1))
        stop = "" if type_ == "bool" or self.chance(0.7) else f" && {s} < {type_}.i32 20"
        if stop:
            return f"(loop ({s}, {t}) = ({self.constant(type_)}, 0i32) while {t} < 4{stop} do ({value}, {t} + 1)).0"
        return f"(loop {s} = {part()} for {t} < {times} do {value})"

    def operator(self, type_):
        if type_ == "bool":
            return self.one_of(("(&&)", "true"), ("(||)", "false"), ("(!=)", "false"))
        if type_[0] == "f":
            return self.one_of((f"{type_}.max", "0"), (f"{type_}.min", f"{type_}.inf"))
        return self.one_of(("(+)", "0"), (f"{type_}.max", f"{type_}.lowest"), ("(^)", "0"), ("(*)", "1"), ("(\\p q -> if q == 0 then p else q)", "0"))

    # ---- arrays

    def array(self, rank=None, shape=None, type_=None):
        found = [x for x in self.arrays if (rank is None or len(x[2]) == rank) and (shape is None or x[2] == shape) and type_ in (None, x[1])]
        return self.random.choice(found[-3:] if self.chance(0.6) else found) if found else None

    def shape(self, rank=None):
        rank = rank or self.one_of(1, 2, 2, 3, 3)
        return tuple(self.random.sample("abc", rank))

    def text_type(self, type_, shape):
        return "".join(f"[{d}]" for d in shape) + type_

    def made(self):
        """A map over some dimensions, in some order."""
        shape, type_ = self.shape(), self.random.choice(TYPES)
        indices = [(self.fresh("ix"), d) for d in shape]
        value = self.number(type_, indices, (), 3)
        names = " ".join(i for i, _ in indices)
        sizes = " ".join(shape)
        if len(shape) == 1 or self.chance(0.3):
            text = value
            for i, d in reversed(indices):
                text = f"tabulate {d} (\\{i} -> {text})"
            return text, type_, shape
        return f"tabulate_{len(shape)}d {sizes} (\\{names} -> {value})", type_, shape

    def turned_array(self):
        name, type_, shape = self.array(rank=self.one_of(2, 3))
        if len(shape) == 2:
            x, y = shape
            return *self.one_of((f"transpose {name}", (y, x)), (f"tabulate {y} (\\j -> {name}[:, j])", (y, x)), (f"map reverse {name}", (x, y)),
                              (f"tabulate_2d {y} {x} (\\i j -> {name}[j, i])", (y, x)), (f"rotate {self.one_of(1, '(-1)', 2)} {name}", (x, y)),
                              (f"map (rotate 1) (transpose {name})", (y, x)), (f"{name}[::-1, ::-1]", (x, y)),
                              (f"unflatten (reverse (flatten {name}))", (x, y)),
                              (f"unflatten (flatten {name} :> [{y} * {x}]{type_})", (y, x)),
                              (f"(let h = {x} / 2 in ({name}[h:] ++ {name}[:h])) :> [{x}][{y}]{type_}", (x, y)),
                              (f"map2 (\\r i -> if i % 2 == 0 then reverse r else rotate i r) {name} (iota {x})", (x, y))), type_
        x, y, z = shape
        return *self.one_of((f"transpose {name}", (y, x, z)), (f"map transpose {name}", (x, z, y)), (f"map transpose (transpose {name})", (y, z, x)),
                          (f"transpose (map transpose {name})", (z, x, y)), (f"transpose (map transpose (transpose {name}))", (z, y, x)),
                          (f"tabulate_3d {z} {x} {y} (\\i j k -> {name}[j, k, i])", (z, x, y)),
                          (f"tabulate {y} (\\j -> {name}[:, j])", (y, x, z)), (f"tabulate {z} (\\j -> {name}[:, :, j])", (z, x, y)),
                          (f"tabulate_2d {z} {y} (\\i j -> {name}[:, j, i])", (z, y, x)),
                          (f"unflatten_3d (flatten_3d {name} :> [{z} * {x} * {y}]{type_})", (z, x, y)),
                          (f"map (map reverse) {name}[::-1]", (x, y, z)), (f"{name}[:, ::-1, :]", (x, y, z)),
                          (f"map2 (\\p i -> if i % 2 == 0 then p else reverse p) {name} (iota {x})", (x, y, z))), type_

    def scanned(self):
        name, type_, shape = self.array()
        op, zero = self.operator(type_)
        if len(shape) == 1:
            return f"scan {op} {zero} {name}", type_, shape
        d = shape[-1]
        one = self.one_of(f"scan {op} {zero}", f"scan {op} {zero}", f"(\\r -> reverse (scan {op} {zero} (reverse r)))")
        rows = f"map ({one})" if len(shape) == 2 else f"map (map ({one}))"
        if len(shape) == 2:
            return self.one_of((f"{rows} {name}", type_, shape), (f"transpose ({rows} (transpose ({name}) :> [{d}][{shape[0]}]{type_}))", type_, shape),
                             (f"scan (map2 {op}) (replicate {d} {zero}) {name}", type_, shape),
                             (f"unflatten (scan {op} {zero} (flatten {name}))", type_, shape))
        x, y, z = shape
        return self.one_of((f"{rows} {name}", type_, shape), (f"map (\\p -> transpose (map ({one}) (transpose p))) {name}", type_, shape),
                         (f"map (scan (map2 {op}) (replicate {z} {zero})) {name}", type_, shape),
                         (f"scan (map2 (map2 {op})) (replicate {y} (replicate {z} {zero})) {name}", type_, shape))

    def reduced(self):
        name, type_, shape = self.array(rank=self.one_of(2, 3))
        op, zero = self.operator(type_)
        if len(shape) == 2:
            x, y = shape
            return self.one_of((f"map (reduce {op} {zero}) {name}", type_, (x,)), (f"map (reduce {op} {zero}) (transpose {name})", type_, (y,)),
                             (f"reduce (map2 {op}) (replicate {y} {zero}) {name}", type_, (y,)),
                             (f"map (\\r -> let (p, _) = reduce (\\p q -> if p.1 < q.1 then p else q) ({zero}, {y}) (zip r (iota {y})) in p) {name}", type_, (x,)))
        x, y, z = shape
        return self.one_of((f"map (map (reduce {op} {zero})) {name}", type_, (x, y)),
                         (f"map (\\p -> map (reduce {op} {zero}) (transpose p)) {name}", type_, (x, z)),
                         (f"map (reduce (map2 {op}) (replicate {z} {zero})) {name}", type_, (x, z)),
                         (f"reduce (map2 (map2 {op})) (replicate {y} (replicate {z} {zero})) {name}", type_, (y, z)),
                         (f"map (\\p -> reduce {op} {zero} (flatten p)) {name}", type_, (x,)),
                         (f"map (\\j -> reduce {op} {zero} (flatten {name}[:, j])) (iota {y})", type_, (y,)))

    def counted(self):
        """Histograms of numbers, of rows, and of both."""
        name, type_, shape = self.array(rank=self.one_of(1, 2, 2))
        while type_ == "bool" or type_[0] == "f":
            name, type_, shape = self.array(rank=self.one_of(1, 2, 2))
        op, zero = self.one_of(("(+)", "0"), ("(+)", "0"), (f"{type_}.max", f"{type_}.lowest"), ("(^)", "0"), ("(*)", "1"))
        x, i = shape[0], self.fresh("ix")
        bins = self.one_of("a", "b", "c")
        spread = self.one_of(f"wrap (i64.i32 ({self.number('i32', [(i, x)], (), 1)})) (i64.max 1 {bins})", f"{i} / 2", f"{i} % 3 - 1", f"{i} % 2",
                           f"wrap {i} {bins}")
        at = f"(map (\\{i} -> {spread}) (iota {x}))"
        if len(shape) == 1:
            return self.one_of((f"hist {op} {zero} {bins} {at} {name}", type_, (bins,)),
                             (f"map (\\(p, q) -> {type_}.i64 q - p) (reduce_by_index (replicate {bins} ({zero}, 0)) (\\(p, q) (r, s) -> (p {op[1:-1] if op[0] == '(' else '+'} r, q + s)) "
                              f"({zero if op[0] == '(' else '0'}, 0i64) {at} (zip {name} (iota {x})))", type_, (bins,)))
        y = shape[1]
        rows = self.one_of(name, name, f"(map (map (* 2)) {name})", f"(map (\\r -> map2 (\\p j -> p - r[clamp (j + 1) {y}]) r (iota {y})) {name})", f"(map (scan (+) 0) {name})")
        wide = f"(replicate {y} {zero})"
        return self.one_of(
            (f"reduce_by_index (replicate {bins} {wide}) (map2 {op}) {wide} {at} {rows}", type_, (bins, y)),
            (f"hist (map2 {op}) {wide} {bins} {at} {rows}", type_, (bins, y)),
            (f"(let (p, q) = unzip (reduce_by_index (replicate {bins} ({wide}, 0i32)) (\\(p, q) (r, s) -> (map2 {op} p r, q + s)) ({wide}, 0) "
             f"{at} (zip {rows} (replicate {x} 1))) in map2 (\\r s -> map (+ {type_}.i32 s) r) p q)", type_, (bins, y)),
            (f"map (\\r -> hist {op} {zero} {bins} (map (\\{i} -> {i} % 3) (iota {y})) r) {rows}", type_, (x, bins)),
            (f"reduce_by_index_2d (replicate {bins} (replicate {y} {zero})) {op} {zero} (flatten (map (\\{i} -> map (\\j -> ({spread}, j)) (iota {y})) (iota {x}))) (flatten {rows})",
             type_, (bins, y)))

    def changed(self):
        name, type_, shape = self.array(rank=self.one_of(2, 2, 3))
        x, y = shape[:2]
        i, j = self.fresh("ix"), self.fresh("j")
        value = lambda indices, atoms=(): self.number(type_, indices, atoms, 1)
        if len(shape) == 2:
            c = self.one_of("2", "3")
            return self.one_of(
                f"(loop q = copy {name} for {i} < {x} do q with [{i}] = tabulate {y} (\\{j} -> {value([(i, x), (j, y)], (f'q[{i}, clamp ({j} - 1) {y}]', f'q[clamp ({i} - 1) {x}, {j}]'))}))",
                f"(loop q = copy {name} for {j} < {y} do q with [:, {j}] = tabulate {x} (\\{i} -> {value([(i, x), (j, y)], (f'q[{i}, clamp ({j} - 1) {y}]', f'q[wrap ({i} - 1) {x}, {j}]'))}))",
                f"(if {x} > 2 && {y} > 2 then copy {name} with [1:{x} - 1, 1:{y} - 1] = tabulate_2d ({x} - 2) ({y} - 2) (\\p q -> {self.joined(type_, f'{name}[p, q + 1]', f'{name}[p + 2, q]')}) else {name})",
                f"(let h = {x} / {c} in copy {name} with [:h] = map reverse {name}[{x} - h:])",
                f"(let h = {x} / 2 in copy {name} with [:2 * h:2] = ({name}[1:2 * h:2] :> [h][{y}]{type_}))",
                f"(let h = {y} / 2 in copy {name} with [:, {y} - h:] = {name}[:, :h])",
                f"(copy {name} with [::-1, :] = copy (rotate 1 {name}))",
                f"(let (q, r) = loop (q, r) = (copy {name}, rotate 1 {name}) for _t < {c} do (r, map2 (map2 (\\p s -> {self.joined(type_, 'p', 's')})) q r) in "
                f"map2 (map2 (\\p s -> {self.joined(type_, 'p', 's')})) q r)",
                f"scatter (copy {name}) (map (\\i -> {self.one_of('i + 1', 'i * 2', 'if i % 2 == 0 then i else -1')}) (iota {x})) (map reverse {name})",
                f"scatter_2d (copy {name}) (map (\\i -> (i, {self.one_of('i', 'i / 2', f'{y} - 1 - i')})) (iota {x})) (tabulate {x} (\\{i} -> {value([(i, x)])}))",
                f"(loop s : state [{x}] [{y}] {type_} = {{at = copy {name}, last = {self.constant(type_)}, k = kk}} while s.k < kk + 2 do "
                f"s with at = map (map (\\p -> {self.joined(type_, 'p', 's.last')})) s.at with k = s.k + 1 with last = {value([])}).at"), type_, shape
        z = shape[2]
        p3 = [(i, x), (j, y), ("k", z)]
        return self.one_of(
            f"(loop q = copy {name} for {i} < {x} do q with [{i}] = tabulate_2d {y} {z} (\\{j} k -> {value(p3, (f'q[{i}, {j}, k]', f'q[clamp ({i} - 1) {x}, {j}, k]'))}))",
            f"(loop q = copy {name} for k < {z} do q with [:, :, k] = tabulate_2d {x} {y} (\\{i} {j} -> {value(p3, (f'q[{i}, {j}, clamp (k - 1) {z}]', f'q[wrap ({i} + 1) {x}, {j}, k]'))}))",
            f"(map (\\q -> loop q = copy q for {j} < {y} do q with [{j}] = tabulate {z} (\\k -> {self.joined(type_, f'q[clamp ({j} - 1) {y}, k]', f'q[{j}, clamp (k + 1) {z}]')})) {name})",
            f"(map (\\q -> loop q = copy q for k < {z} do q with [:, k] = tabulate {y} (\\{j} -> {self.joined(type_, f'q[{j}, clamp (k - 1) {z}]', f'q[wrap ({j} + 1) {y}, k]')})) {name})",
            f"(loop q = copy {name} for _t < 3 do tabulate_3d {x} {y} {z} (\\{i} {j} k -> {self.joined(type_, f'q[{i}, {j}, clamp (k + 1) {z}]', self.one_of(f'q[{i}, clamp ({j} - 1) {y}, k]', f'q[wrap ({i} - 1) {x}, {j}, k]', f'q[{i}, {j}, k]'))}))",
            f"(loop q = copy {name} for _t < 2 do map (\\p -> map2 (map2 (\\r s -> {self.joined(type_, 'r', 's')})) p (reverse p)) (rotate 1 q))",
            f"(let h = {y} / 2 in copy {name} with [:, :h] = ({name}[:, {y} - h:]))"), type_, shape

    def of_rows(self):
        """Rows that points work on."""
        name, type_, shape = self.array(rank=self.one_of(2, 3))
        d = shape[-1]
        op, zero = self.operator(type_)
        body = self.one_of(f"let f = filter (\\e -> {self.converted('bool', type_, 'e')}) r in (keep (length f) f {self.constant(type_)} : [{d}]{type_})",
                         f"let (f, g) = partition (\\e -> {self.converted('bool', type_, 'e')}) r in (g ++ f) :> [{d}]{type_}",
                         f"let m = reduce {op} {zero} r in map (\\e -> {self.joined(type_, 'e', 'm')}) r",
                         f"let m = scan {op} {zero} r in map2 (\\e f -> {self.joined(type_, 'e', 'f')}) m (rotate 1 r)",
                         f"(loop r = copy r for i < {d} do if i > 0 && (!r[i] || r[i - 1]) then let e = r[i] let r[i] = r[i - 1] let r[i - 1] = e in r else r)"
                         if type_ == "bool" else
                         f"(loop r = copy r for i < {d} do if i > 0 && r[i] <= r[i - 1] then let e = copy r[i] let r[i] = copy r[i - 1] let r[i - 1] = e in r else r)",
                         f"scatter (copy r) (map (\\i -> i * 2 - 1) (iota {d})) (reverse r)",
                         f"(loop q = copy r for i < 3 do map2 (\\e f -> {self.joined(type_, 'e', 'f')}) q (rotate i q))",
                         f"let h = {d} / 2 in (r[h:] ++ map (\\e -> {self.joined(type_, 'e', self.constant(type_))}) r[:h]) :> [{d}]{type_}")
        whole = f"map (\\r -> {body})" if len(shape) == 2 else f"map (map (\\r -> {body}))"
        if self.chance(0.3):
            back = "transpose" if len(shape) == 2 else "map transpose"
            other = (shape[1], shape[0]) if len(shape) == 2 else (shape[0], shape[2], shape[1])
            return f"{back} ({whole} {name})", type_, other
        return f"{whole} {name}", type_, shape

    def statement(self):
        self.fuel = 14
        kind = self.one_of("made", "made", "made", "turned", "turned", "scanned", "reduced", "counted", "changed", "changed", "of_rows")
        if kind == "turned":
            text, shape, type_ = self.turned_array()
            return text, type_, shape
        return getattr(self, kind)()

    # ---- programs

    def program(self):
        lines = []
        for _ in range(self.random.randint(3, 8)):
            text, type_, shape = self.statement()
            name = self.fresh("r")
            lines.append(f"let {name} = {text} :> {self.text_type(type_, shape)}" if "unflatten" in text or self.chance(0.2) else f"let {name} : {self.text_type(type_, shape)} = {text}")
            self.arrays.append((name, type_, shape))
        made = [x for x in self.arrays if x[0][0] == "r"]
        return lines, made

    def text(self, lines, made):
        few = made if self.may_fail else self.random.sample(made, min(len(made), self.random.randint(1, 3))) + made[-1:]
        body = "\n  ".join(lines)
        results = ", ".join(dict.fromkeys(x[0] for x in few))
        return (f"entry main [a] [b] [c] (x3: [a][b][c]i32) (x2: [a][b]i32) (y2: [b][c]u8) (z2: [a][c]f32) (v: [b]i16) (w: [c]i64) (u: [a]i32) (kk: i32) =\n"
                f"  let k64 = i64.i32 kk\n  {body}\n  in ({results})\n")

    def definitions(self):
        return DEFINITIONS

    def values(self, type_, shape, low, high):
        def rows(dims):
            if not dims:
                n = self.random.randint(low, high)
                return f"{n}.0f32" if type_ == "f32" else f"{n}{type_}"
            return "[" + ", ".join(rows(dims[1:]) for _ in range(dims[0])) + "]"
        if 0 in shape:
            return "empty(" + "".join(f"[{d}]" for d in shape) + type_ + ")"
        return rows(shape)

    def input(self):
        while True:
            a, b, c = (self.random.choice(self.sizes) for _ in range(3))
            if a * b * c <= 1500:
                break
        size = {"a": a, "b": b, "c": c}
        return " ".join(self.values(type_, tuple(size[d] for d in shape), 0 if type_ in ("u8", "f32") else -5, 9)
                        for _, type_, shape in self.arrays[:7]) + f" {self.random.randint(0, 5)}i32"
