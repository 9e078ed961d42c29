"""Sizes at the borders of lanes, chunks and groups, and what kernels treat on their own there: loops of each
lane's own rounds, what is shifted by an element or two, slices with strides that are updated, tables that the
host changes round by round, reductions from any element that they may begin with, look-ups in tables of every
width, tuples of mixed widths."""
from idioms.failing import Failing
from idioms.words import Words, size

BORDERS = (0, 1, 2, 3, 4, 7, 8, 15, 16, 17, 31, 32, 33, 63, 64, 65, 127, 129, 255, 257)
LONG = (1000, 1023, 1025)
TABLES = ("u8", "i8", "i16", "u16", "bool", "f16", "i32", "i64", "f32", "f64", "u32")
# Operators of pairs (first, second), their neutral elements, whether they commute; of a type and a second one.
PAIRS = (
    ("(\\(f, x) (g, y) -> (f || g, if g then y else x + y))", "(false, 0)", "({c}, {x})", "bool", False),
    ("(\\(f, x) (g, y) -> (f | g, if g != 0 then y else {t}.max x y))", "(0u8, {t}.lowest)", "(u8.bool {c}, {x})", "u8", False),
    ("(\\(f, x) (g, y) -> if f < g || f == g && x <= y then (f, x) else (g, y))", "(i16.highest, {t}.highest)", "(i16.{t} {x}, {y})", "i16", True),
    ("(\\(f, x) (g, y) -> (f + g, {t}.min x y))", "(0i64, {t}.highest)", "(i64.{t} {x}, {y})", "i64", True),
    ("(\\(f, x) (g, y) -> (f ^ g, x + y))", "(0i8, 0)", "(i8.{t} {x}, {y})", "i8", True),
    ("(\\(f, x) (g, y) -> if g == 0u16 then (f, {t}.max x y) else (g, y))", "(0u16, {t}.lowest)", "(u16.bool {c}, {x})", "u16", False),
)


class Edges(Words):
    def __init__(self, seed, depth=4):
        super().__init__(seed, depth)
        self.widths, self.rows = BORDERS + LONG, BORDERS + LONG
        self.most = 2200

    def whole(self):
        """A type of integers."""
        while True:
            type_ = self.type()
            if type_[0] != "f":
                return type_

    def bounded(self, type_, i):
        return self.pick((f"({i} % 7)", f"(i64.{type_} x & 15)", "5", "(i64.i32 k & 7)", f"({i} & 3)"))

    # ---- loops of each lane's own rounds

    def rounds(self):
        name, type_, (dim,) = self.array()
        n, table = size(dim), self.array()
        c = size(table[2][0])
        look = f"(if {c} == 0 then 1 else {table[0]}[(i64.abs (i64.{type_} y) + t) % {c}])"
        atoms = [("x", type_), ("y", type_), ("t", "i64"), ("s", "u8"), (look, table[1]), ("i", "i64")]
        new, other, small = self.value(type_, atoms, 2), self.value(type_, atoms, 2), self.value("u8", atoms, 2)
        end = self.pick((self.comparison(atoms), self.comparison(atoms), "y > 3", f"t < {self.bounded(type_, 'i')}", "s < 9"))
        inner = self.value(type_, atoms + [("z", type_), ("j", "i64")], 2)
        body = self.pick((
            f"({new}, {small}, t + 1)", f"if {self.comparison(atoms)} then ({new}, s, t + 1) else ({other}, {small}, t + 2)",
            f"let y = {new} in if {self.comparison(atoms)} then (y, {small}, t + 20) else ({other}, s + 1, t + 1)",
            f"(loop z = y for j < {self.bounded(type_, 't')} do {inner}, s + 1, t + 1)",
            f"let (z, _j) = loop (z, j) = (y, 0i64) while j < 4 && {self.comparison(atoms + [('z', type_)])} do ({inner}, j + 1) in (z, {small}, t + 1)",
            f"if {self.comparison(atoms)} then (y, s, 99) else ({new}, {small}, t + 1)"))
        last = self.pick(((f"(y, s)", lambda e: f"map (\\(y, s) -> y + {type_}.u8 s) ({e})"), ("y", None), (f"y + {type_}.i64 t", None), (f"{type_}.u8 s", None)))
        if self.may_fail:  # all that may fail is needed
            last = f"y + {type_}.u8 s + {type_}.i64 t", None
        text = (f"map2 (\\x i -> let (y, s, t) = loop (y, s, t) = (x, 1, 0) while t < 20 && ({end}) do {body} in {last[0]}) {name} (iota {n})")
        return (last[1](text) if last[1] else text), type_, (dim,)

    def counted_rounds(self):
        name, type_, (dim,) = self.array()
        n = size(dim)
        of, _, (other,) = table = self.array()
        c, u = size(other), table[1]
        atoms = [("x", type_), ("r", type_), ("j", "i64"), ("i", "i64"), (f"(if {c} == 0 then 2 else {of}[(i + j) % {c}])", u)]
        new = self.value(type_, atoms, 2)
        op, neutral = self.reduction(type_)
        few = self.pick((f"(i64.{type_} x & 15)", "(i % 9)", "(i64.max 0 (5 - i))", f"(i64.min {c} (i & 3))"))
        value = self.value(type_, [("x", type_), ("j", "i64"), ("i", "i64")], 2)
        return self.pick((
            f"map2 (\\x i -> loop r = x for j < {few} do {new}) {name} (iota {n})",
            f"map2 (\\x i -> loop r = x for j < {few} do if {self.comparison(atoms)} then {new} else r) {name} (iota {n})",
            f"map2 (\\x i -> reduce {op} {neutral} (map (\\j -> {value}) (iota {few}))) {name} (iota {n})",
            f"map2 (\\x i -> let a = scan {op} {neutral} (map (\\j -> {value}) (iota {few})) in if null a then x else last a) {name} (iota {n})",
            f"map2 (\\x i -> {type_}.i64 (length (filter (\\j -> let r = x in {self.comparison(atoms)}) (iota {few})))) {name} (iota {n})",
            f"map2 (\\x i -> let q = {few} in reduce {op} {neutral} (map (\\v -> let j = i64.{u} v & 15 in {value}) (take (i64.min q {c}) {of}))) {name} (iota {n})",
            f"map2 (\\x i -> (loop (r, w) = (x, replicate 4 x) for j < {few} do let w[j % 4] = {new} in (r + w[(j + 1) % 4], w)).0) {name} (iota {n})",
        )), type_, (dim,)

    # ---- shifted by an element or two

    def shifted_exp(self, a, n, type_):
        """Of the n elements of a, as many."""
        z = self.pick(("0", f"({type_}.i32 k)", f"(if {n} == 0 then 1 else {a}[0])"))
        return self.pick((
            f"(([{z}] ++ {a})[:{n}])", f"(({a} ++ [{z}])[1:] :> [{n}]{type_})", f"(([{z}, 3] ++ {a})[:{n}])",
            f"(if {n} == 0 then {a} else ([{z}] ++ init {a}) :> [{n}]{type_})", f"(if {n} == 0 then {a} else (tail {a} ++ [{z}]) :> [{n}]{type_})",
            f"(rotate 1 {a})", f"(rotate (-1) {a})", f"(rotate (i64.i32 k) {a})", f"(reverse {a})", f"(take {n} ({a} ++ {a}))", f"(drop {n} ({a} ++ reverse {a}) :> [{n}]{type_})",
            f"((([{z}] ++ {a}) ++ [9])[1:{n} + 1] :> [{n}]{type_})", f"(let h = {n} / 2 in ({a}[h:] ++ {a}[:h]) :> [{n}]{type_})",
            f"(let h = i64.min 1 {n} in ({a}[h:] ++ replicate h {z}) :> [{n}]{type_})"))

    def shifted(self):
        name, type_, (dim,) = self.array()
        n, other = size(dim), self.array(shape=(dim,))
        f = self.value(type_, [("x", type_), ("y", type_), ("z", other[1])], 2)
        op, neutral = self.reduction(type_)
        made = self.pick((name, f"(map (\\x -> let y = x let z = {other[1]}.{type_} x in {f}) {name})", f"(scan {op} {neutral} {name})",
                          f"(map2 (\\x z -> let y = x in {f}) {name} {other[0]})"))
        s, t = self.shifted_exp("a", n, type_), self.shifted_exp("a", n, type_)
        return self.pick((
            f"(let a = {made} in map3 (\\x y z -> {f}) {s} {t} {other[0]})", f"(let a = {made} in {s})",
            f"(let a = {made} in scan {op} {neutral} {s})", f"(let a = {made} let q = reduce {op} {neutral} {s} in map (+ q) {t})",
            f"(loop a = {made} for _t < {self.pick((2, 3))} do map3 (\\x y z -> {f}) {s} {t} {other[0]})",
            f"(let a = {made} let a = {s} let a = {t} in map2 (\\x z -> let y = x in {f}) a {other[0]})",
            f"(let a = {made} let w = [{s}, {t}] in map (\\c -> reduce {op} {neutral} c) (transpose w))")), type_, (dim,)

    def shifted_rows(self):
        name, type_, (first, second) = self.array(rank=2)
        a, b = size(first), size(second)
        f = self.value(type_, [("x", type_), ("y", type_)], 2)
        op, neutral = self.reduction(type_)
        of_rows = self.pick((f"([replicate {b} 0] ++ w)[:{a}]", f"(w ++ [replicate {b} 2])[1:] :> [{a}][{b}]{type_}", "rotate 1 w", "reverse w"))
        s, t = self.shifted_exp("r", b, type_), self.shifted_exp("r", b, type_)
        return self.pick((
            f"map (\\r -> map2 (\\x y -> {f}) {s} {t}) {name}", f"map (\\r -> scan {op} {neutral} {s}) {name}",
            f"(let w = {name} in map2 (\\p q -> map2 (\\x y -> {f}) p q) w ({of_rows}))",
            f"(let w = {name} let v = {of_rows} in map2 (\\r q -> map2 (\\x y -> {f}) {s} q) w v)",
            f"transpose (map (\\r -> {self.shifted_exp('r', a, type_)}) (transpose {name}))",
            f"(loop w = {name} for _t < 2 do map2 (\\p r -> map2 (\\x y -> {f}) p {s}) w ({of_rows}))")), type_, (first, second)

    # ---- slices with strides that are updated

    def strided(self):
        name, type_, (dim,) = self.array()
        n = size(dim)
        s, o = self.pick(("2", "3", "(1 + t)", "(1 + (i64.i32 k & 3))", "16")), self.pick(("0", "1", "t", "(t % 2)"))
        atoms = [("x", type_), ("y", type_), ("t", "i64")]
        f = self.value(type_, atoms, 2)
        start = f"let s = {s} let o = i64.min {n} {o} let h = ({n} - o + s - 1) / s "
        of = f"(a[o:{n}:s] :> [h]{type_})"
        made = self.pick((f"map (\\x -> let y = x in {f}) {of}", f"map2 (\\x y -> {f}) {of} a[:h]", f"map2 (\\x y -> {f}) {of} {name}[{n} - h:]",
                          f"scan (+) 0 {of}", f"copy (reverse {of})", f"replicate h ({type_}.i64 t)", f"map (\\i -> let x = {name}[i] let y = a[{n} - 1 - i] in {f}) (iota h)"))
        if "a[:h]" in made or "a[{n}" in made:
            made = made.replace("a[:h]", f"(a[:h] :> [h]{type_})")
        made = made.replace(f"{name}[{n} - h:]", f"({name}[{n} - h:] :> [h]{type_})")
        body = f"{start}in if h == 0 then a else a with [o:{n}:s] = {made}"
        return self.pick((f"(loop a = copy {name} for t < {self.pick((2, 3))} do {body})", f"(let t = 1i64 let a = copy {name} {body})",
                          f"(loop a = map (+ 1) {name} for t < 2 do let a = ({body}) in a with [::-1] = map2 (\\x y -> {f}) a {name})")), type_, (dim,)

    def strided_rows(self):
        name, type_, (first, second) = self.array(rank=2)
        a, b = size(first), size(second)
        f = self.value(type_, [("x", type_), ("y", type_), ("t", "i64")], 2)
        s = self.pick((2, 3))
        start = f"let h = ({a} + {s} - 1) / {s} let g = ({b} + {s} - 1) / {s} let c = {b} / 2 let _ = (h, g, c) "
        each = f"map (map (\\x -> let y = x in {f}))"
        body = self.pick((
            f"w with [::{s}] = {each} (w[::{s}] :> [h][{b}]{type_})", f"w with [:, ::{s}] = {each} (w[:, ::{s}] :> [{a}][g]{type_})",
            f"w with [::{s}, ::{s}] = {each} (w[::{s}, ::{s}] :> [h][g]{type_})", f"w with [::{s}, :c] = {each} (w[::{s}, {b} - c:] :> [h][c]{type_})",
            f"w with [:, :c] = map (\\r -> scan (+) 0 r[{b} - c:]) w", f"w with [::-1, :] = {each} w", f"w with [:, ::-1] = {each} w"))
        ends = f"if {a} == 0 || {b} == 0 then w else "
        return self.pick((f"(loop w = copy {name} for t < 2 do {start}in {ends}{body})",
                          f"map (\\r -> (loop a = copy r for t < 2 do let g = ({b} + {s} - 1) / {s} in if g == 0 then a else "
                          f"a with [::{s}] = map (\\x -> let y = x in {f}) (a[::{s}] :> [g]{type_}))) {name}",
                          f"(let t = 3i64 let w = copy {name} {start}in {ends}{body})")), type_, (first, second)

    # ---- tables that the host changes round by round

    def dying(self):
        name, type_, (dim,) = self.array()
        n = size(dim)
        atoms = [(f"a[{self.place('t', n)}]", type_), (f"b[{self.place('t', n)}]", type_), (f"{name}[t]", type_), ("t", "i64"), ("s", type_)]
        new, then = self.value(type_, atoms, 2), self.value(type_, atoms, 2)
        at, to = self.place("t", n), self.place("t", n)
        first = self.pick((f"copy {name}", f"map (+ 1) {name}", f"(let c = copy {name} in if {n} > 2 then c with [1] = 7 else c)", f"replicate {n} 3", f"scan (+) 0 {name}"))
        other = self.pick(("copy a0", f"copy {name}", f"copy (reverse {name})", "map (\\x -> x) a0"))
        swap = self.pick((f"(a with [{at}] = u, b, v)", f"(a with [{at}] = u, b with [{to}] = v, s)", f"(b, a with [{at}] = u, v)",
                          f"(let o = copy a in let a = a with [{at}] = u in (a, o, v))", f"(let a = a with [{at}] = u in (a, copy a, v))",
                          f"if {self.comparison(atoms)} then (a with [{at}] = u, b, s) else (a, b with [{to}] = v, s + 1)",
                          f"(let x = a[{to}] let a = a with [{at}] = u let a = a with [{to}] = x in (a, b, v))",
                          f"(loop a for j < i64.min 3 {n} do a with [j] = a[{self.place('j', n)}] + s, b, v)"))
        swap = f"({f'let u = {new} ' if '= u' in swap else ''}let v = {then} in {swap})"
        kept = self.pick(("map2 (\\x y -> x - y) a b", "a", "b", "map2 (\\x y -> x - y) a a0", "map2 (\\x y -> x + y) b a0", f"map2 (\\x y -> x ^ y) a {name}" if type_[0] != "f" else "b",
                          "map (+ s) a"))
        if self.may_fail:  # all that may fail is needed
            kept = "map (+ s) (map2 (\\x y -> x - y) a b)"
        return self.pick((
            f"(let a0 = {first} let (a, b, s) = loop (a, b, s) = (copy a0, {other}, 1) for t < {n} do {swap} in {kept})",
            f"(let a0 = {first} let (a, b, s) = loop (a, b, s) = (copy a0, copy a0, 2) for t < {n} do {swap} let (a, b, s) = loop (a, b, s) = (copy b, a, s) for t < i64.min 4 {n} do {swap} in {kept})",
            f"(let a0 = {first} let (a, b, s, _t) = loop (a, b, s, t) = (copy a0, {other}, 1, 0) while t < {n} && s != 9 do let (a, b, s) = {swap} in (a, b, s, t + 1) in {kept})",
        )), type_, (dim,)

    def dying_tables(self):
        name, type_, (first, second) = self.array(rank=2)
        a, b = size(first), size(second)
        atoms = [("w[i - 1, j]", type_), ("w[i, j - 1]", type_), ("w[i - 1, j - 1]", type_), ("w0[i, j]", type_), (f"w[i, {b} - 1 - j]", type_), ("i", "i64")]
        new = self.value(type_, atoms, 2)
        fill = f"loop w = copy w0 for i in 1..<{a} do loop w for j in 1..<{b} do w with [i, j] = {new}"
        row = self.value(type_, [("x", type_), ("y", type_)], 2)
        rows = self.pick((f"loop w = copy w0 for i in 1..<{a} do w with [i] = map2 (\\x y -> {row}) w[i - 1] w[i]",
                          f"loop w = copy w0 for j in 1..<{b} do w with [:, j] = map2 (\\x y -> {row}) w[:, j - 1] w[:, j]",
                          f"loop w = copy w0 for i in 1..<{a} do w with [i, :{b} / 2] = copy w[i - 1, {b} - {b} / 2:]",
                          f"loop w = copy w0 for i in 1..<{a} do let w[i] = scan (+) 0 w[i - 1] in w with [i - 1] = map2 (\\x y -> {row}) w[i] w0[i]"))
        made = self.pick((fill, fill, rows))
        start = self.pick((f"copy {name}", name, f"map (map (+ 1)) {name}", f"replicate {a} (replicate {b} 2)"))
        kept = self.pick(("w", "map2 (map2 (\\x y -> x - y)) w w0"))
        return f"(if {a} < 2 || {b} < 2 then copy {name} else let w0 = {start} let w = {made} in {kept})", type_, (first, second)

    # ---- reductions and scans from any element

    def begun(self):
        name, type_, (dim,) = self.array()
        n, op = size(dim), self.pick((f"{type_}.max", f"{type_}.min"))
        if type_[0] != "f":
            op = self.pick((op, op, "(&)", "(|)"))
        x = self.pick((f"({type_}.i32 k)", "3", f"({type_}.i64 {n})"))
        element = self.value(type_, [("x", type_)] + self.scalars, 2)
        few = self.pick((f"[x, {element}]", f"[{element}]", f"replicate 3 x", f"([x] ++ take (i64.min 5 {n}) {name})", f"{name}"))
        return self.pick((
            f"(let s = reduce {op} {x} {name} in map (+ s) {name})", f"scan {op} {x} {name}", f"(let s = reduce {op} {x} (map (\\x -> {element}) {name}) in map (+ s) {name})",
            f"map (\\x -> reduce {op} {x} ({few})) {name}", f"map (\\x -> reduce {op} x ({few})) {name}", f"map (\\x -> last (scan {op} x ([x] ++ {few}))) {name}",
            f"(let s = reduce {op} {x} (filter (> 3) {name}) in map (+ s) {name})", f"(let s = reduce_comm {op} {x} (map (\\x -> {element}) {name}) in map (\\v -> v - s) {name})")), type_, (dim,)

    def begun_rows(self):
        name, type_, (first, second) = self.array(rank=2)
        op, x = self.pick((f"{type_}.max", f"{type_}.min")), self.pick((f"({type_}.i32 k)", "5"))
        element = self.value(type_, [("x", type_)] + self.scalars, 2)
        text, shape = self.pick((
            (f"map (\\r -> reduce {op} {x} r) {name}", (first,)), (f"map (\\r -> reduce {op} {x} r) (transpose {name})", (second,)),
            (f"map (\\r -> scan {op} {x} r) {name}", (first, second)), (f"map (\\r -> reduce {op} {x} (map (\\x -> {element}) r)) {name}", (first,)),
            (f"reduce (map2 {op}) (replicate {size(second)} {x}) {name}", (second,)), (f"scan (map2 {op}) (replicate {size(second)} {x}) {name}", (first, second)),
            (f"(let s = reduce {op} {x} (flatten {name}) in map (map (+ s)) {name})", (first, second)),
            (f"map2 (\\r i -> reduce {op} ({type_}.i64 i) r) {name} (iota {size(first)})", (first,))))
        return text, type_, shape

    # ---- look-ups

    def table_text(self):
        """A table, its type, its size."""
        name, of, (dim,) = self.array()
        type_, n = self.pick(TABLES), self.pick((1, 2, 16, 17, 256, 300))
        made = f"i32.{of} (if {size(dim)} == 0 then 3 else {name}[j % {size(dim)}])"
        value = f"({made} > 3)" if type_ == "bool" else f"f16.i32 (({made}) & 511)" if type_ == "f16" else f"{type_}.i32 ({made})"
        return f"tabulate {n} (\\j -> {value})", type_, n

    def looked(self):
        name, type_, (dim,) = self.array()
        n, whole = size(dim), self.whole()
        table, of, c = self.table_text()
        at = lambda e: self.pick((f"i64.{type_} {e} % {c}", f"i64.abs (i64.{type_} {e}) % {c}", f"i64.u8 (u8.{type_} {e}) % {c}" , f"i64.{whole} ({whole}.{type_} {e}) % {c}"))
        got = lambda e: f"({type_}.{of} t[{at(e)}])"
        atoms = [("x", type_), (got("x"), type_), (got("x"), type_), ("i", "i64")]
        f = self.value(type_, atoms, 2)
        op, neutral = self.reduction(type_)
        deep = f"(loop v = x for _j < {self.pick(('3', '(i % 5)'))} do {got('v')} + v)"
        until = f"(loop (v, j) = (x, 0i64) while j < 6 && {got('v')} != 3 do ({got('v')} + v, j + 1)).0"
        text = self.pick((
            f"map2 (\\x i -> {f}) {name} (iota {n})", f"map2 (\\x i -> {deep}) {name} (iota {n})", f"map2 (\\x i -> {until}) {name} (iota {n})",
            f"(let s = reduce {op} {neutral} (map2 (\\x i -> {f}) {name} (iota {n})) in map (+ s) {name})", f"scan {op} {neutral} (map2 (\\x i -> {f}) {name} (iota {n}))",
            f"map2 (\\x i -> if {self.comparison(atoms)} then {got('x')} else x) {name} (iota {n})",
            f"map2 (\\x i -> loop r = x for j < 4 do let x = {name}[(i + j) % {n}] in r + {got('x')}) {name} (iota {n})"))
        return f"(let t = {table} in {text})", type_, (dim,)

    def looked_rows(self):
        """In a matrix, and in a vector by the elements of rows."""
        name, type_, (first, second) = self.array(rank=2)
        other = self.pick([q for q in self.arrays if len(q[2]) == 2])
        p, q = (size(d) for d in other[2])
        table, of, c = self.table_text()
        at = f"i64.abs (i64.{type_} x) % {c}"
        f = self.value(type_, [("x", type_), (f"({type_}.{of} t[{at}])", type_)], 2)
        far = f"(if {p} == 0 || {q} == 0 then 5 else {other[0]}[i64.abs (i64.{type_} x) % i64.max 1 {p}, (i + j) % i64.max 1 {q}])"
        g = self.value(type_, [("x", type_), (far, other[1]), (far, other[1])], 2)
        op, neutral = self.reduction(type_)
        text, shape = self.pick(((f"map (map (\\x -> {f})) {name}", (first, second)), (f"map (\\r -> reduce {op} {neutral} (map (\\x -> {f}) r)) {name}", (first,)),
                                 (f"tabulate_2d {size(first)} {size(second)} (\\i j -> let x = {name}[i, j] in {g})", (first, second)),
                                 (f"map (\\r -> loop s = 1 for x in r do if x > 2 then s + {f} else s) {name}", (first,)),
                                 (f"map (\\r -> map (\\x -> {f}) r |> scan {op} {neutral}) {name}", (first, second))))
        return f"(let t = {table} in {text})", type_, shape

    # ---- tuples of mixed widths

    def pairs_of(self):
        """Elements that are pairs, their operator; the name, type and shape of what they are made of."""
        name, type_, (dim,) = self.array()
        while type_[0] == "f":
            name, type_, (dim,) = self.array()
        n = size(dim)
        op, neutral, made, first, commutes = self.pick(PAIRS)
        atoms = [("x", type_), ("i", "i64")]
        element = made.format(t=type_, c=self.comparison(atoms), x="x", y=self.value(type_, atoms, 2))
        return (name, type_, dim, f"(map2 (\\x i -> {element}) {name} (iota {n}))", op.format(t=type_), neutral.format(t=type_), first, commutes)

    def tuples(self):
        name, type_, dim, whole, op, neutral, first, commutes = self.pairs_of()
        n = size(dim)
        back = f"(\\(f, x) -> x + {type_}.{first} f)"
        number = f"({back} p)"
        at = self.pick(("i", f"{n} - 1 - i", "2 * i", "i - 1", "i + 3"))
        return self.pick((
            f"map {back} (scan {op} {neutral} {whole})", f"map {back} (scan {op} {neutral} {whole})", f"map {back} (exscan {op} {neutral} {whole})",
            f"(let p = reduce {op} {neutral} {whole} in map (+ {number}) {name})", f"(let p = reduce {op} {neutral} (reverse {whole}) in map (+ {number}) {name})",
            f"map {back} (reverse (scan {op} {neutral} (reverse {whole})))", f"map {back} (scatter (replicate {n} {neutral}) (map (\\i -> {at}) (iota {n})) {whole})",
            f"(let (a, b) = partition (\\(f, x) -> {back} (f, x) > 3) {whole} in map {back} (b ++ a) :> [{n}]{type_})",
            f"(let a = filter (\\p -> {number} > 1) {whole} in tabulate {n} (\\i -> if i < length a then {back} a[i] else 2))",
            f"map {back} (loop a = {whole} for j < i64.min 3 {n} do a with [j] = a[{n} - 1 - j])",
            f"(loop a = {whole} for j < 2 do let b = scan {op} {neutral} a in map2 (\\p q -> if {number} > 2 then p else q) a b) |> map {back}",
            f"map {back} (map (\\i -> reduce {op} {neutral} (take (i % 5) {whole})) (iota {n}))" if not commutes else f"map {back} (scan {op} {neutral} (rotate 1 {whole}))",
            f"map {back} (([{neutral}] ++ {whole})[:{n}])", f"map (.1) (scan {op} {neutral} {whole})")), type_, (dim,)

    def bins_of_tuples(self):
        while True:
            name, type_, dim, whole, op, neutral, first, commutes = self.pairs_of()
            if commutes:
                break
        to = self.dim()
        n, m = size(dim), size(to)
        bins = self.pick((f"(map (\\x -> i64.{type_} x % i64.max 1 {m}) {name})", f"(map (\\i -> i * 3 % ({m} + 1)) (iota {n}))", f"(map (\\i -> i / 2) (iota {n}))",
                          f"(map (\\x -> (i64.{type_} x & 3) - 1) {name})"))
        back = f"(\\(f, x) -> x + {type_}.{first} f)"
        start = self.pick((f"(replicate {m} {neutral})", f"(tabulate {m} (\\i -> let (f, x) = {neutral} in (f, if i % 2 == 0 then x else 5)))"))
        return self.pick((f"map {back} (reduce_by_index {start} {op} {neutral} {bins} {whole})", f"map {back} (hist {op} {neutral} {m} {bins} {whole})",
                          f"(let h = hist {op} {neutral} {m} {bins} {whole} let h = reduce_by_index h {op} {neutral} {bins} (rotate 1 {whole}) in map {back} h)",
                          f"(loop h = {start} for _t < 2 do reduce_by_index h {op} {neutral} {bins} {whole}) |> map {back}")), type_, (to,)

    def tuple_rows(self):
        name, type_, (first, second) = self.array(rank=2)
        if type_[0] == "f":
            name, type_ = f"(map (map i32.{type_}) {name})", "i32"
        op, neutral, made, of, _ = self.pick(PAIRS)
        atoms = [("x", type_), ("i", "i64")]
        element = made.format(t=type_, c=self.comparison(atoms), x="x", y=self.value(type_, atoms, 2))
        op, neutral = op.format(t=type_), neutral.format(t=type_)
        row = f"(map2 (\\x i -> {element}) r (iota (length r)))"
        back = f"(\\(f, x) -> x + {type_}.{of} f)"
        text, shape = self.pick(((f"map (\\r -> map {back} (scan {op} {neutral} {row})) {name}", (first, second)), (f"map (\\r -> {back} (reduce {op} {neutral} {row})) {name}", (first,)),
                                 (f"map (\\r -> {back} (reduce {op} {neutral} {row})) (transpose {name})", (second,)),
                                 (f"transpose (map (\\r -> map {back} (scan {op} {neutral} {row})) (transpose {name}))", (first, second)),
                                 (f"map (\\r -> map {back} (map (\\i -> reduce {op} {neutral} (take (i % 4) {row})) (iota {size(second)}))) {name}", (first, second))))
        return text, type_, shape

    def dim(self):
        return self.pick(("n", "n", "m"))

    STATEMENTS = (rounds, rounds, rounds, counted_rounds, counted_rounds, shifted, shifted, strided, strided, dying, dying, dying, begun, looked, looked, tuples, tuples, bins_of_tuples)
    OF_MATRICES = (shifted_rows, strided_rows, dying_tables, begun_rows, looked_rows, tuple_rows)


class EdgesGenerator(Edges):
    def statement(self):
        return self.pick(self.OF_MATRICES if self.chance(0.3) else self.STATEMENTS)(self)

    def input(self):
        swapped = self.chance(0.3)
        widths, rows = self.widths, self.rows
        n, m = self.pick(widths), self.pick(rows)
        while n * m > self.most:
            n, m = (n, self.pick([r for r in rows if r < m])) if swapped else (self.pick([w for w in widths if w < n]), m)
        self.widths, self.rows = (n,), (m,)
        text = super().input()
        self.widths, self.rows = widths, rows
        return text


class FailingEdgesGenerator(Failing, EdgesGenerator):
    """Programs that may fail, and need all that they compute."""
    may_fail = True
    STRICT = (Edges.rounds, Edges.counted_rounds, Edges.dying, Edges.strided, Edges.looked, Edges.strided_rows, Edges.looked_rows, Edges.tuples)

    def statement(self):
        return self.pick(self.STRICT)(self)
