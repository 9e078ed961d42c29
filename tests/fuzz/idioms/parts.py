"""Whole programs of many small functions that call each other, as people write them: of numbers, rows, rows of other lengths,
matrices, records, sums and modules, with several entry points.  Each function's body is a form whose holes are functions
that were defined before.  Of four programs one may fail."""
import random
import re

# Forms by kind.  Holes: {N} number -> number, {O} two numbers -> number, {P} number -> bool, {S} row -> number, {V} row -> row, {G} row ->
# row of another length, {M} matrix -> matrix, {L} matrix -> a number for each row, {T} matrix -> a number for each column, {R} record ->
# record, {op} an associative operator and its neutral element, {c} a constant, {k} a number of rounds.
FORMS = {
    "N": (
        "x * {c} + {c}", "{O} x {c}", "if {P} x then {N} x else x - {c}", "{N} ({N} x)", "x / {d}", "x % {d}", "x // {d} - x %% {d}", "loop y = x for _i < {c} do {O} y x",
        "match kind_of x case #low a -> {N} a case #mid -> {c} case #high a b -> {O} a (t.bool b)", "t.i8 (i8.{w} x) + {c}", "t.u8 (u8.{w} x) - {c}", "x >> 1",
        "(x & 7) << (x & 3)", "t.f32 (f32.sqrt (f32.{w} (x & 15)) * 4)", "t.i64 (gcd (i64.{w} x & 63) {c})", "let (a, b) = ({N} x, {N} (x + 1)) in if a < b then a else b",
        "t.sum (map (\\y -> {O} x y) [1, x, {c}])", "let ys = [x, {N} x, {c}] in ys[i64.{w} (x & 1)] - ys[2]", "({R} {{xs = [x, {N} x, 2], s = x, on = {P} x}}).s",
        "t.f16 (f16.{w} (x & 63) / 8)", "{S} [x, x + 1, {c}, x - {c}]", "(loop (y, k) = (x, 0i32) while y > {c} && k < 5 do (y / 2, k + 1)).0",
        "t.i32 (climb (i32.{w} x & 15) {c})", "{S} (map (\\i -> {O} x (t.i64 i)) (iota (i64.{w} (x & 3))))"),
    "O": (
        "x + y", "x - y", "x * y", "x ^ y", "t.max x y", "t.min x y", "if x < y then {N} x else y", "{N} x + {N} y", "{O} y x", "{O} ({N} x) y", "x / (1 + (y & 3))", "x % ((y & 7) + 1)",
        "if {P} x then y else {O} x y", "x << (y & 3)", "{S} [x, y]", "let z = {O} x y in z - x", "t.bool (x == y) + x", "x & y | {c}",
        "loop z = x for _i < i64.{w} (y & 3) do {N} z + y", "(turn {{a = x, b = y}}).{ab}"),
    "P": ("x > {c}", "x % 2 == 0", "x != {c}", "{N} x < x", "!({P} x)", "{P} x && x < 50", "{P} x || {P} (x + 1)", "x & 3 != 1",
          "match kind_of x case #low _ -> true case #mid -> false case #high _ b -> b", "f32.{w} x / f32.{w} (x & 1) >= 0"),
    "S": (
        "reduce {op} xs", "reduce {op} (map {N} xs)", "{S} ({V} xs)", "reduce {op} ({G} xs)", "t.i64 (length ({G} xs))", "let i = {c64} in if n > i then xs[i] else {c}",
        "loop a = {c} for x in xs do {O} a x", "reduce {op} xs - reduce {op} (map2 {O} xs (reverse xs))", "{O} ({S} xs) ({S} (rotate 1 xs))",
        "(loop (a, i) = (0, 0) while i < n && {P} xs[i] do ({O} a xs[i], i + 1)).0",
        "let (a, i) = reduce (\\(a, i) (b, j) -> if a > b || a == b && i < j then (a, i) else (b, j)) (t.lowest, n) (zip xs (iota n)) in if i < n then a - t.i64 i else {c}",
        "let (a, b) = reduce_comm (\\(a, b) (c, d) -> (a + c, t.max b d)) (0, t.lowest) (map (\\x -> (x, {N} x)) xs) in {O} a b",
        "let (a, b) = reduce (\\(a, b) (c, d) -> (a * c, b * c + d)) (1, 0) (map (\\x -> (x & 3, {N} x)) xs) in a - b",
        "if {P} (reduce {op} xs) then {S} xs else {S} ({G} xs)", "t.bool (any {P} xs) + t.bool (all {P} xs)", "let ys = {G} xs in {S} ys + {S} (map {N} ys)",
        "t.sum (map (\\i -> {S} xs[:i]) (iota n))", "let ys = {V} xs in reduce {op} (map2 {O} xs ys)", "t.sum (hist {op} 4 (map (\\x -> i64.{w} x & 3) xs) xs)",
        "let r = {R} {{xs, s = {c}, on = true}} in if r.on then r.s else {S} r.xs", "{S} ({L} (replicate 3 xs))", "{S} ({T} (map (\\x -> [x, {N} x]) xs))",
        "reduce {op} (flatten ({M} [xs, {V} xs]))", "(foldl (\\(a, b) x -> if {P} x then (b, {O} a x) else (a, b + 1)) (0, 1) xs).0",
        "let m = n / 2 in t.sum (map2 {O} xs[:m] (xs[m:2 * m] :> [m]t))", "T1.total xs", "T2.total ({V} xs)", "let (a, b, c) = unzip3 (map (\\x -> (x, {N} x, {P} x)) xs) in {S} a - {S} b + t.bool (or c)"),
    "V": (
        "map {N} xs", "map {N} ({V} xs)", "map2 {O} xs ({V} xs)", "scan {op} xs", "scan {op} (map {N} xs)", "let s = {S} xs in map (\\x -> {O} x s) xs", "map2 (\\x i -> {O} x (t.i64 i)) xs (iota n)",
        "reverse ({V} (reverse xs))", "let (a, b) = partition {P} xs in (b ++ a) :> [n]t", "let (a, b) = partition {P} xs in ({V} a ++ {V} b) :> [n]t",
        "let ys = {G} xs in tabulate n (\\i -> if i < length ys then ys[i] else xs[i])", "let ys = {G} xs in scatter (copy xs) (map (\\i -> i * {c} - 1) (indices ys)) ys",
        "loop xs = copy xs for i < n do xs with [i] = {O} xs[i] xs[(i + {c}) % n]", "loop xs = xs for _i < {k} do {V} xs", "(loop (xs, k) = (xs, 0i32) while k < {c} && {P} ({S} xs) do ({V} xs, k + 1)).0",
        "if {P} ({S} xs) then {V} xs else {V} xs", "hist {op} n (map (\\x -> i64.{w} x & 7) xs) xs", "reduce_by_index (copy ({V} xs)) {op} (map (\\x -> i64.{w} ({N} x) & 7) xs) (reverse xs)",
        "let m = n / 2 in ({V} (take m xs) ++ {V} (drop m xs)) :> [n]t", "let h = n / 2 let ys = copy xs in ys with [:h] = copy ({V} (xs[n - h:] :> [h]t))",
        "let h = n / 2 let ys = copy xs in ys with [0:2 * h:2] = copy ({V} (xs[1:2 * h:2] :> [h]t))", "{V} xs[::-1]", "tabulate n (\\i -> {S} (rotate i xs))", "map (\\x -> {S} (map ({O} x) xs)) xs",
        "map (\\i -> {S} xs[:i]) (iota n)", "map (\\i -> {S} ({G} xs[i64.max 0 (i - 2):i + 1])) (iota n)", "({R} {{xs, s = {c}, on = false}}).xs", "({R} ({R} {{xs = {V} xs, s = {S} xs, on = true}})).xs",
        "let h = n / 3 in (flatten ({M} (unflatten (xs[:h * 3] :> [h * 3]t) : [h][3]t)) ++ xs[h * 3:]) :> [n]t",
        "map (\\(a, b) -> {O} a b) (scan (\\(a, b) (c, d) -> (a * c, b * c + d)) (1, 0) (map2 (\\x y -> (x & 3, y)) xs ({V} xs)))",
        "map (.1) (scan (\\(f, a) (g, b) -> (f || g, if g then b else {asc} a b)) (false, {ascz}) (map2 (\\x i -> (i % {d64} == 0, {N} x)) xs (iota n)))",
        "{L} (map (\\x -> [x, {N} x, {c}]) xs)", "{T} [xs, {V} xs]", "({M} [xs, reverse xs, {V} xs])[{z3}]", "{L} (map (\\x -> map ({O} x) xs) xs)", "{T} (map (\\x -> map ({O} x) xs) xs)",
        "map (\\x -> match kind_of x case #low a -> {N} a case #mid -> {S} xs case #high a b -> if b then a else {N} a) xs", "along {V} xs", "both {N} {N} xs",
        "map (\\x -> {S} ({G} (map (+ x) xs))) xs", "map (\\x -> loop y = x for z in xs do if {P} z then {O} y z else y) xs", "T1.run xs", "T2.run ({V} xs)", "T1.run (T2.run xs)",
        "map (\\x -> let ys = loop ys = replicate 3 x for i < 3 do ys with [i] = {O} ys[i] (t.i64 i) in {S} ys) xs",
        "(loop (a, b) = (xs, {V} xs) for _i < {k} do (map2 {O} a b, {V} a)).0", "let (a, b) = unzip (map (\\x -> ({N} x, {P} x)) xs) in map2 (\\x y -> if y then x else {c}) a (rotate (-1) b)",
        "map2 (\\a b -> a - b) ({V} xs) ({V} xs)", "let ys = {V} xs in map (\\i -> if i > 0 then {O} ys[i] ys[i - 1] else ys[i]) (indices ys) :> [n]t",
        "let f = {N} >-> {N} in map f xs", "xs |> {V} |> {V}", "scatter (copy ({V} xs)) (map (\\i -> n - 1 - i) (iota n)) ({V} xs)",
        "let (ys, s) = loop (ys, s) = (copy xs, {c}) for i < n do let s = {O} s ys[i] in (ys with [i] = s, s) in map ({O} s) ys", "sort xs", "map (\\x -> {S} (sort (map ({O} x) xs))) xs",
        "tabulate n (\\i -> let j = if {P} xs[i] then i else n - 1 - i in {O} xs[j] xs[i])", "(map {S} (unflatten (map {N} (flatten (replicate n xs))) : [n][n]t))"),
    "G": (
        "filter {P} xs", "filter {P} ({V} xs)", "{V} (filter {P} xs)", "let (a, b) = partition {P} xs in {V} b ++ map {N} a[:i64.min 1 (length a)]", "xs[:n / 2]", "xs[::2]", "xs[i64.min 1 n:]", "{G} xs ++ {G} xs",
        "loop ys = xs[:i64.min 2 n] for _i < 2 do ys ++ filter {P} (map {N} ys)", "map (.0) (filter (\\(x, i) -> i % 2 == 0 && {P} x) (zip xs (iota n)))", "flatten (map (\\x -> [x, {N} x]) xs)",
        "let a = {S} xs in replicate (i64.{w} (a & 3)) a", "loop ys = xs while length ys > 3 do let h = length ys / 2 in map2 {O} ys[:h] (ys[h:2 * h] :> [h]t)",
        "map (\\i -> {O} (t.i64 i) {c}) (iota (i64.{w} ({S} xs) & 3))", "if {P} ({S} xs) then {G} xs else []", "if n > 2 then {V} xs[1:n - 1] else xs", "let ys = {G} xs in reverse ys", "let (_, b) = split_at {P} xs in b",
        "tabulate (n / 2 + 1) (\\i -> if i < n then {N} xs[i] else {c})", "filter {P} (flatten ({M} [xs, xs]))"),
    "M": (
        "map {V} xss", "transpose (map {V} (transpose xss))", "map2 (\\xs y -> map ({O} y) xs) xss ({L} xss)", "map (\\xs -> map2 {O} xs ({T} xss)) xss", "{M} ({M} xss)",
        "tabulate_2d n m (\\i j -> {O} xss[i, j] xss[n - 1 - i, (j + {c64}) % m])", "loop xss = copy xss for i < n do xss with [i] = copy ({V} xss[(i + 1) % n])", "loop xss = copy xss for j < m do xss with [:, j] = copy ({V} xss[:, j])",
        "scan (map2 {asc}) (replicate m {ascz}) xss", "if {P} ({S} ({L} xss)) then {M} xss else map (map {N}) xss", "reverse (map {V} xss)", "rotate {c64} xss", "map (rotate (-1)) xss", "xss[::-1, :]", "map reverse xss[::-1]",
        "scatter (copy xss) (map (\\i -> i * 2 - 1) (iota n)) (map {V} xss)", "scatter_2d (copy xss) (map (\\i -> (i, i % i64.max 1 m)) (iota n)) ({L} xss)", "unflatten ({V} (flatten xss))",
        "let g = map (\\xs -> map (\\ys -> {S} (map2 {O} xs ys)) xss) xss in map2 (\\r xs -> map ({O} ({S} r)) xs) g xss", "loop xss = xss for _i < {k} do {M} xss",
        "(loop (xss, k) = (xss, 0i32) while k < 2 && {P} ({S} ({T} xss)) do ({M} xss, k + 1)).0", "map2 (map2 {O}) xss ({M} xss)", "let h = n / 2 let yss = copy xss in yss with [:h] = (map {V} xss[n - h:] :> [h][m]t)",
        "let h = m / 2 let yss = copy xss in yss with [:, :h] = (map {V} xss[:, m - h:] :> [n][h]t)", "map (\\xs -> if {P} ({S} xs) then {V} xs else xs) xss", "map2 (\\xs i -> if i % 2 == 0 then {V} xs else map {N} xs) xss (iota n)",
        "columns {V} xss", "reduce_by_index (copy xss) (map2 {asc}) (replicate m {ascz}) (map (\\i -> i / 2) (iota n)) ({M} xss)",
        "map (\\i -> map (\\j -> let up = if i > 0 then xss[i - 1, j] else {c} let left = if j > 0 then xss[i, j - 1] else {c} in {O} up left) (iota m)) (iota n)",
        "map (\\xs -> ({R} {{xs, s = {c}, on = {P} ({S} xs)}}).xs) xss", "let r = map (\\xs -> {R} {{xs, s = {S} xs, on = true}}) xss in map (\\r -> map ({O} r.s) r.xs) r"),
    "L": (
        "map {S} xss", "map (\\xs -> {S} ({G} xs)) xss", "map (\\xs -> {S} ({V} xs)) xss", "{V} ({L} xss)", "map2 {O} ({L} xss) ({L} xss)", "{L} ({M} xss)", "tabulate n (\\i -> {S} (xss[i] :> [m]t))",
        "map (\\xs -> if m > 0 then {O} xs[0] xs[m - 1] else {c}) xss", "map (\\xs -> loop a = {c} for x in xs do {O} a x) xss", "tabulate n (\\i -> {S} (map2 {O} xss[i] xss[n - 1 - i]))",
        "map (\\xs -> t.i64 (length ({G} xs))) xss", "loop a = replicate n {c} for j < m do map2 {O} a xss[:, j]", "map (\\xs -> {S} ({T} [xs, reverse xs])) xss",
        "map (\\xs -> ({R} {{xs, s = {S} xs, on = false}}).s) xss", "let u = {T} xss in map (\\xs -> {S} (map2 {O} xs u)) xss"),
    "T": (
        "map {S} (transpose xss)", "reduce (map2 {asc}) (replicate m {ascz}) xss", "{T} ({M} xss)", "loop a = replicate m {c} for xs in xss do map2 {O} a xs", "{V} ({T} xss)",
        "map (\\xs -> {S} ({G} xs)) (transpose xss)", "tabulate m (\\j -> {S} xss[:, j])", "if n > 1 then {V} xss[1] else replicate m {c}", "{L} (transpose xss)",
        "reduce (map2 {asc}) (replicate m {ascz}) (map {V} xss)", "reduce_by_index (replicate m {ascz}) {op} (tabulate n (\\i -> i % i64.max 1 m)) ({L} xss)"),
    "R": (
        "r with s = {S} r.xs", "r with xs = {V} r.xs", "if r.on then r with s = {N} r.s with on = false else r with xs = map ({O} r.s) r.xs", "{{xs = map2 {O} r.xs ({V} r.xs), s = {O} r.s {c}, on = !r.on}}",
        "loop r for _i < {k} do {R} r", "loop r = {R} r while r.on && r.s > {c} do r with s = r.s / 2 with xs = {V} r.xs", "{R} ({R} r)", "let {{xs, s, on}} = {R} r in {{xs = map (\\x -> if on then {O} x s else {N} x) xs, s, on}}",
        "let xs = copy r.xs in r with xs = (if n > 0 then xs with [n - 1] = {O} r.s xs[0] else xs)", "r with on = {P} ({S} r.xs)"),
}
TYPES = {"N": ("(x: t) : t", ""), "O": ("(x: t) (y: t) : t", ""), "P": ("(x: t) : bool", ""), "S": ("(xs: [n]t) : t", "[n]"), "V": ("(xs: [n]t) : [n]t", "[n]"),
         "G": ("(xs: [n]t) : []t", "[n]"), "M": ("(xss: [n][m]t) : [n][m]t", "[n] [m]"), "L": ("(xss: [n][m]t) : [n]t", "[n] [m]"),
         "T": ("(xss: [n][m]t) : [m]t", "[n] [m]"), "R": ("(r: state [n]) : state [n]", "[n]")}
# What holes may hold where there is no function, or none small enough.
SIMPLE = {"N": ("(+ 1)", "(* 3)", "(\\x -> x - 2)", "(^ 5)"), "O": ("(+)", "(-)", "t.max", "(\\x y -> x * 2 - y)"), "P": ("(> 2)", "(\\x -> x % 3 == 1)", "(!= 0)"),
          "S": ("t.sum", "t.maximum", "(reduce (^) 0)", "t.product"), "V": ("reverse", "(scan (+) 0)", "(rotate 1)", "(map (+ 1))", "sort", "copy"),
          "G": ("(filter (> 1))", "(\\xs -> xs[::2])", "(\\xs -> xs ++ xs)"), "M": ("(map reverse)", "reverse", "(map (map (* 2)))"), "L": ("(map t.sum)", "(map t.maximum)"),
          "T": ("(\\xss -> map t.sum (transpose xss))",), "R": ("(\\(r: state []) -> r with s = r.s + 1)",)}
FAILING = {"N": ("x / (x & 3)", "assert (x != {c}) x", "[x, 1, 2][i64.{w} x & 3]"), "O": ("x %% y", "x / y"), "S": ("xs[{c}]", "xs[0]", "reduce (\\x y -> assert (y != 9) ({asc} x y)) {ascz} xs", "let ys = {G} xs in ys[length ys - 1]"),
           "V": ("tabulate n (\\i -> xs[i + {z3} - {z3}])", "{G} xs :> [n]t", "map (\\x -> xs[i64.{w} x]) xs", "copy xs with [{c64}] = 1", "map2 {O} xs (xs[i64.{w} xs[0]:] :> [n]t)"),
           "G": ("xs[{c}:]", "xs[1:]", "xs[:n - {z3}]"), "M": ("map (\\i -> xss[(i + {z3}) / 2]) (iota n)", "({G} xss[0] :> [m]t) |> replicate n"),
           "L": ("map (\\xs -> xs[{c}]) xss", "map (\\xs -> head ({G} xs)) xss"), "T": ("xss[{z3}]", "head xss"), "P": ("{c} / x > 0",), "R": ("assert (r.s != {c}) r",)}
OPERATORS = (("(+)", "0"), ("t.max", "t.lowest"), ("t.min", "t.highest"), ("(^)", "0"), ("(*)", "1"), ("(\\a b -> a + b + a * b)", "0"), ("(|)", "0"),
             ("(\\a b -> if b == 0 then a else b)", "0"), ("(\\a _ -> a)", "0")) [:8]
COMMUTE = (0, 1, 2, 3, 4, 6)
PRELUDE = """module t = {w}
type t = t.t
type state [n] = {{xs: [n]t, s: t, on: bool}}
type kind = #low t | #mid | #high t bool
def kind_of (x: t) : kind = if x < {c} then #low (x + 1) else if x < 9 then #mid else #high (x / 2) (x % 2 == 0)
def turn (p: {{a: t, b: t}}) : {{a: t, b: t}} = p with a = p.b - p.a with b = p.a
def gcd (a: i64) (b: i64) : i64 = if b == 0 then a else gcd b (a % b)
#[depth(16)] def climb (a: i32) (b: i32) : i32 = if b < 1 then a else 2 * climb (a + b) (b - 1) - climb (a ^ b) (b - 3)
def along [n] (f: t -> t) (xs: [n]t) : [n]t = map f xs |> reverse
def both [n] (f: t -> t) (g: t -> t) (xs: [n]t) : [n]t = map2 (\\x i -> if i % 2 == 0 then f x else g x) xs (iota n)
def columns [n] [m] (f: (k: i64) -> [k]t -> [k]t) (xss: [n][m]t) : [n][m]t = transpose (map (f n) (transpose xss))
def split_at [n] (p: t -> bool) (xs: [n]t) : ([]t, []t) = let k = (loop i = 0i64 while i < n && p xs[i] do i + 1) in (xs[:k], xs[k:])
def sort [n] (xs: [n]t) : [n]t =
  let at = map2 (\\x i -> i64.sum (map2 (\\y j -> i64.bool (y < x || y == x && j < i)) xs (iota n))) xs (iota n)
  in scatter (replicate n 0) at xs
module type monoid = {{ val op : t -> t -> t val ne : t }}
module mk (m: monoid) = {{
  local def scanned [n] (xs: [n]t) : [n]t = scan m.op m.ne xs
  def total [n] (xs: [n]t) : t = reduce m.op m.ne {tot}
  def run [n] (xs: [n]t) : [n]t = {run}
}}
module T1 = mk {{ def op (a: t) (b: t) : t = {op1} a b def ne : t = {ne1} }}
module T2 = mk {{ def op (a: t) (b: t) : t = {op2} a b def ne : t = {ne2} }}
"""


class PartsGenerator:
    expected = None

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.may_fail = seed % 4 == 3
        self.type = self.random.choice(("i32", "i32", "i64", "i16", "u8", "i8", "u32"))
        self.functions = []  # (kind, name, weight)
        self.widths = (0, 1, 2, 3, 5, 8)
        self.weight = 0

    def widen(self):
        self.widths = (17, 33, 70)

    def constant(self):
        return str(self.random.choice((1, 2, 3, 5)))

    def operator(self):
        return self.random.choice(OPERATORS)

    def commuting(self):
        return OPERATORS[self.random.choice(COMMUTE)]

    def simple(self, kind):
        return self.random.choice(SIMPLE[kind])

    def called(self, kind, most):
        """A function for a hole: one of before, or a simple one."""
        found = [f for f in self.functions if f[0] == kind and f[2] <= most]
        if not found or self.random.random() < 0.25:
            self.weight += 1
            return self.simple(kind).replace("t.", "t.")
        name, weight = self.random.choice(found[-4:])[1:]
        self.weight += weight
        return name

    def filled(self, form, most):
        """A form with its holes filled."""
        asc, ascz = self.commuting()
        scalars = {"c": self.constant, "c64": self.constant, "k2": lambda: self.random.choice("23"), "k": lambda: self.random.choice(("2", "3", "1", "(n & 3)", "0")), "d": lambda: self.random.choice(("2", "3", "5", "7")),
                   "d64": lambda: self.random.choice(("2", "3", "4")), "z3": lambda: self.random.choice("012"), "ab": lambda: self.random.choice("ab"), "w": lambda: self.type, "asc": lambda: asc, "ascz": lambda: ascz,
                   "op": lambda: " ".join(self.commuting() if "hist" in form or "reduce_by" in form else self.operator())}
        def hole(found):
            name = found.group(1)
            return scalars[name]() if name in scalars else self.called(name, most)
        text = re.sub(r"(?<!\{)\{([A-Za-z0-9]+)\}", hole, form)
        return text.replace("{{", "{").replace("}}", "}")

    def body(self, kind, most):
        forms = [form for form in FORMS[kind] if not (self.may_fail and "(length" in form)]  # none checks what has it
        if self.may_fail and self.random.random() < 0.12:
            forms = FAILING[kind]
        form = self.random.choice(forms)
        if kind in "NOP" and self.random.random() < 0.5:
            form = self.random.choice(FORMS[kind][:12])
        self.weight = 1
        if "columns {V}" in form:
            return f"columns (\\k (xs: [k]t) -> {self.called('V', most)} xs) xss"
        if "along {V}" in form:
            form = "along {N} xs"
        return self.filled(form, most)

    def function(self, kind, most):
        text = self.body(kind, most)
        name = f"{kind.lower()}{len(self.functions)}"
        parameters, sizes = TYPES[kind]
        self.functions.append((kind, name, self.weight))
        attribute = "#[noinline] " if kind in "NO" and self.random.random() < 0.1 else ""
        return f"{attribute}def {name} {sizes} {parameters} =\n  {text}\n".replace("  (", " (", 1)

    def program(self):
        lines = []
        for kind in "NOPNSVGVSRMLTVSMGNLVMRVSMLT"[: self.random.randint(12, 27)]:
            lines.append(self.function(kind, self.random.choice((1, 2, 4, 8, 14, 25))))
        return lines, None

    def definitions(self):
        op1, ne1 = self.operator()
        op2, ne2 = self.operator()
        return PRELUDE.format(w=self.type, c=self.constant(), op1=op1, ne1=ne1, op2=op2, ne2=ne2, tot=self.random.choice(("xs", "(scanned xs)", "(map (m.op 3) xs)")),
                              run=self.random.choice(("scanned xs", "map (m.op (total xs)) xs", "reverse (scanned (reverse xs))", "map (\\x -> total (map (m.op x) xs)) xs")))

    def entry(self, name):
        rank = self.random.choice((1, 2, 2, 3))
        heads = {1: "[n] (xs: [n]t)", 2: "[n] [m] (xss: [n][m]t)", 3: "[k] [n] [m] (cube: [k][n][m]t)"}
        results = {1: ("{V} xs", "{S} xs", "{G} xs", "{V} ({V} xs)", "map (\\x -> {S} (map ({O} x) xs)) xs"), 2: ("{M} xss", "{L} xss", "{T} xss", "map {V} xss", "{M} ({M} xss)", "map (\\xs -> {S} ({G} xs)) xss", "{S} (flatten xss)"),
                   3: ("map {M} cube", "map {L} cube", "map {T} cube", "map (map {V}) cube", "map (map {S}) cube", "map (\\xss -> {S} ({L} xss)) cube", "map (\\xss -> {M} (map {V} xss)) cube", "map transpose (map {M} (map transpose cube))",
                       "map (\\xss -> {V} (flatten xss)) cube")}[rank]
        chosen = [self.filled(self.random.choice(results), 60) for _ in range(self.random.randint(1, 3))]
        return rank, f"entry {name} {heads[rank]} =\n  ({', '.join(chosen)})\n"

    def text(self, lines, _results):
        self.ranks, entries = {}, []
        for name in ("main", "second", "third")[: self.random.randint(1, 3)]:
            self.ranks[name], text = self.entry(name)
            entries.append(text)
        # what no entry point needs is left out
        kept, mentioned = [], "".join(entries)
        for line in reversed(lines):
            name = re.search(r"def (\w+)", line).group(1)
            if re.search(rf"\b{name}\b", mentioned):
                kept.append(line)
                mentioned += line
        return "\n".join(list(reversed(kept)) + entries)

    def values(self, dims):
        low, high = (0, 20) if self.type[0] == "u" else (-9, 20)
        if 0 in dims:
            return "empty(" + "".join(f"[{d}]" for d in dims) + self.type + ")"
        def rows(rest):
            if not rest:
                return f"{self.random.randint(low, high)}{self.type}"
            return "[" + ", ".join(rows(rest[1:]) for _ in range(rest[0])) + "]"
        return rows(dims)

    def input(self, entry="main"):
        return self.values([self.random.choice(self.widths) for _ in range(self.ranks[entry])])


SMOOTH = {
    "N": ("t.sin x", "x * 0.5 + 0.3", "t.exp (-x * x)", "{N} ({N} x)", "{O} x 0.7", "if {P} x then x * 0.3 else {N} x", "x / (1 + x * x)", "t.sqrt (1 + x * x)",
          "loop y = x for _i < {k2} do {N} y", "t.max x ({N} x)", "({R} {{xs = [x, {N} x, 0.2], s = x, on = {P} x}}).s", "{S} [x, x + 0.5, {N} x]", "let (a, b) = ({N} x, {N} (x + 1)) in if a < b then a else b",
          "(loop (y, k) = (x, 0i32) while t.abs y < 2 && k < 4 do ({N} y + 0.8, k + 1)).0", "match kind_of x case #low a -> {N} a case #mid -> 0.4 case #high a b -> if b then {O} a x else a",
          "{S} (map (\\i -> {O} x (t.i64 i)) (iota (if {P} x then 3 else 2)))"),
    "O": ("x + y", "x * y", "x - 0.5 * y", "t.sin (x * y)", "{N} x + {N} y", "{O} y x", "x / (1.5 + y * y)", "if x < y then x else {N} y", "{S} [x, y]", "t.min x ({N} y)", "(turn {{a = x, b = y}}).{ab}",
          "loop z = x for _i < 2 do {N} z * 0.5 + y"),
    "P": ("x > 0.1", "{N} x < x", "!({P} x)", "{P} x && x < 0.8", "{P} x || {P} (x + 0.3)"),
}
SMOOTH_OPERATORS = (("(+)", "0"), ("(*)", "1"), ("t.max", "t.lowest"), ("(\\a b -> a + b + 0.1 * a * b)", "0"), ("(+)", "0"), ("t.min", "t.highest"), ("(+)", "0"))
SMOOTH_PRELUDE = """def kind_of (x: t) : kind = if x < 0.1 then #low (x + 0.3) else if x < 0.3 then #mid else #high (x / 2) (x < 0.7)
def kind_at (x: t) : i64 = if x < 0.2 then 0 else if x < 0.6 then 2 else 1
"""
WHOLE_ONLY = re.compile(r"[&|^] |i64\.\{w\}|T[12]\.|% |to_text|<< |>> |along|reduce_comm")


def smooth_forms():
    forms = {kind: tuple(f for f in FORMS[kind] if not WHOLE_ONLY.search(f.replace("&& ", "").replace("|| ", "").replace("|> ", "").replace("% i64.max 1", ""))) for kind in "SVGMLTR"}
    forms["S"] += ("t.sum (hist {op} 3 (map kind_at xs) xs)",)
    forms["V"] += ("map t.sin ({V} xs)", "map2 (\\x i -> xs[(i + {c64}) % n] * x) xs (iota n)", "hist {op} n (map kind_at xs) xs", "reduce_by_index (copy ({V} xs)) {op} (map kind_at xs) (reverse xs)")
    return {**forms, **SMOOTH}


class SmoothPartsGenerator(PartsGenerator):
    """A function of a matrix and a row, as places.py has, with its derivatives."""

    def __init__(self, seed):
        super().__init__(seed)
        self.may_fail, self.type, self.forms = False, "f64", smooth_forms()

    def operator(self):
        return self.random.choice(SMOOTH_OPERATORS)

    def commuting(self):
        return self.operator()

    def simple(self, kind):
        return self.random.choice({"N": ("t.sin", "(* 0.9)", "(+ 0.2)"), "O": ("(*)", "(+)", "(\\x y -> x * 0.7 - y)"), "P": ("(> 0.2)", "(< 0.6)"), "S": ("t.sum", "t.maximum", "(reduce (*) 1)"),
                                   "V": ("reverse", "(scan (+) 0)", "(map t.sin)", "(rotate 1)"), "G": ("(filter (> 0.2))", "(\\xs -> xs ++ xs)")}.get(kind, SIMPLE[kind]))

    def body(self, kind, most):
        self.weight = 1
        form = self.random.choice(self.forms[kind])
        if "columns {V}" in form:
            return f"columns (\\k (xs: [k]t) -> {self.called('V', most)} xs) xss"
        text = self.filled(form, most)
        return f"t.sin ({text})" if kind == "S" else text

    def definitions(self):
        whole = super().definitions()
        lines = [line for line in whole.splitlines() if not line.startswith(("def kind_of", "module T", "def gcd", "#[depth"))]
        return "\n".join(lines[:4]) + "\n" + SMOOTH_PRELUDE + "\n".join(lines[4:]) + "\n"

    def text(self, lines, _results):
        from idioms.places import ENTRY
        whole = self.random.choice(("t.sum ({L} xss) * {S} xs", "{S} (flatten ({M} xss)) + {S} ({V} xs)", "{S} ({T} xss) + {S} ({L} (map (map2 {O} ({T} xss)) xss))", "t.sum (map2 (\\ys x -> {S} (map ({O} x) ys)) xss xs)",
                                    "{S} ({L} ({M} xss)) * {S} ({G} xs)", "t.sum (map (\\ys -> {S} ({V} ys)) xss) + {S} ({V} xs)"))
        entry = f"def f [n] [m] (xss: [n][m]t, xs: [n]t) : t = t.sin ({self.filled(whole, 60)})\n"
        kept, mentioned = [], entry
        for line in reversed(lines):
            name = re.search(r"def (\w+)", line).group(1)
            if re.search(rf"\b{name}\b", mentioned):
                kept.append(line)
                mentioned += line
        return "\n".join(list(reversed(kept)) + [entry]) + ENTRY

    def input(self, entry="main"):
        n, m = self.random.randrange(1, 5), self.random.randrange(1, 5)
        row = lambda size: "[" + ", ".join(f"{self.random.uniform(-0.3, 1):.3f}f64" for _ in range(size)) + "]"
        matrix = lambda: "[" + ", ".join(row(m) for _ in range(n)) + "]"
        return f"1e-5 {matrix()} {row(n)} {matrix()} {row(n)}"
