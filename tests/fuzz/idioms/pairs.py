"""What points make of all pairs, of windows from and to places of their own, of short rows and of parts put together: numbers of many
types, whose sums and products are exact; widths around those of vectors, tiles and strips."""
import random

from choices import Choices

TYPES = ("i32", "i32", "f32", "f32", "i64", "u8", "i16", "f64", "u32", "f16")


class PairsGenerator(Choices):
    expected = None

    def __init__(self, seed):
        super().__init__(random.Random(seed))
        self.may_fail = self.random.random() < 0.25
        self.ranks, self.types = {}, {}
        self.sizes = (0, 1, 3, 4, 5, 9, 20, 33), (0, 1, 4, 15, 16, 17, 33, 50, 65), (0, 1, 2, 3, 5, 8, 17, 32, 33, 64, 130)

    def widen(self):
        self.sizes = (1, 4, 33, 70), (1, 17, 65, 300), (1, 3, 20, 130)

    def constant(self):
        return f"({self.type}.i32 {self.random.randint(0, 4)})"

    def term(self, names, depth=1):
        """Of numbers; sums of 10,000 such are exact."""
        if depth == 0 or self.chance(0.1):
            return self.one_of(*names, *names, *names, "k", self.constant())
        a, b, t = self.term(names, depth - 1), self.term(names, depth - 1), self.type
        forms = [f"({t}.max {a} {b})", f"({t}.min {a} {b})", f"(if {a} < {b} then {a} else {b} - {b})", f"(if {a} == {b} then {self.constant()} else {a})", f"({t}.bool ({a} {self.one_of('<', '!=', '>=')} {b}))"]
        if t[0] != "f" or depth == 1:
            forms += [f"({a} * {b})", f"({a} - {b})", f"({a} + {b})"] * 2
        if t[0] == "f":
            forms += [f"({t}.abs {a})", f"(if {t}.isnan {a} then {b} else {a})"]
        else:
            forms += [f"({a} / {b})", f"({a} % (3 - {b}))"] if self.may_fail and self.chance(0.2) else []
            forms += [f"({a} ^ {b})", f"({a} / ({b} | 1))", f"({a} % ({b} | 1))", f"({a} << ({b} & 3))"]
        return self.one_of(*forms)

    def operator(self):
        """A reduction's operator and its neutral element, of numbers."""
        t = self.type
        some = [(f"{t}.max", f"{t}.lowest"), (f"{t}.min", f"{t}.highest")]
        if t == "f16":
            return self.one_of(*some)
        some += [("(+)", "0")] * 4
        return self.one_of(*some) if t[0] == "f" else self.one_of(*some, ("(^)", "0"), ("(*)", "1"), ("(\\p q -> if q == 0 then p else q)", "0"), ("(|)", "0"))

    def total(self, values, width):
        """Of an array of numbers, in many ways."""
        t, (op, zero) = self.type, self.operator()
        s, i = self.fresh("s"), self.fresh("i")
        pairs = f"(let v = {values} in zip v (indices v))"
        least = f"(\\p q -> if p.0 {self.one_of('<', '>')} q.0 || (p.0 == q.0 && p.1 < q.1) then p else q)"
        forms = [f"reduce {op} {zero} ({values})"] * 4
        none = f"({t}.{'highest' if '<' in least[:30] else 'lowest'}, i64.highest)"
        forms += [f"(reduce {least} {none} {pairs}).0", f"{t}.bool ((reduce {least} {none} {pairs}).1 % 3 == 1)",
                  f"(let r = reduce (\\(a, b) (c, e) -> ({t}.max a c, {t}.min b e)) ({t}.lowest, {t}.highest) (map (\\x -> (x, x)) ({values})) in if r.0 > r.1 then r.0 else r.1)",
                  f"(loop {s} = k for x in ({values}) do if x > {s} then x else {t}.min {s} 9)", f"(loop {s} = k for {i} < ({width}) do {t}.max {s} (({values})[{i}]))" if values.isidentifier() else f"(loop {s} = k for x in ({values}) do {t}.max x {s})",
                  f"{t}.bool (or (map (> k) ({values})))"]
        if t[0] != "f":
            forms += [f"(reduce (\\(a, b) (c, e) -> (a * c, b * c + e)) (1, 0) (map (\\x -> (x, k)) ({values}))).1", f"(loop {s} = k for x in ({values}) do {s} * 3 - x)",
                      f"(reduce (\\(a, b, c, d) (e, f, g, h) -> (a * e + b * g, a * f + b * h, c * e + d * g, c * f + d * h)) (1, 0, 0, 1) (map (\\x -> (x, 1, k, x)) ({values}))).1"]
        return f"({self.one_of(*forms)})"

    # ---- pairs

    def pair(self):
        """Of rows p and q of length d."""
        x = self.term(["x", "y"], self.one_of(1, 2))
        i, s = self.fresh("i"), self.fresh("s")
        loops = [self.total(f"map2 (\\x y -> {x}) p q", "d")] * 3 + [
            f"(loop {s} = {self.constant()} for {i} < d do let x = p[{i}] let y = q[{i}] in {self.type}.max {s} {x})",
            f"(loop ({s}, {i}) = (k, 0i64) while {i} < d && {s} < 9 do let x = p[{i}] let y = q[d - 1 - {i}] in ({self.type}.max {s} {x}, {i} + 1)).0",
            self.total(f"map3 (\\x y z -> {self.term(['x', 'y', 'z'], 2)}) p q w", "d"), self.total(f"map2 (\\x y -> {x}) p (reverse q)", "d"),
            self.total(f"map2 (\\x y -> {x}) (take (d / 2) p) (sized (d / 2) (drop (d - d / 2) q))", "d / 2")]
        one = self.one_of(*loops)
        if self.chance(0.2):
            one = f"(let a = {one} let b = {self.one_of(*loops)} in {self.term(['a', 'b'], 1)})"
        return self.term([one, one, "k"], 1) if self.type[0] != "f" and self.chance(0.3) else one

    def of_pairs(self):
        one, others = self.pair(), self.one_of("qs", "qs", "ps", "(reverse qs)", "(map reverse qs)", "qs[::-1]", "(take (m / 2) qs)")
        width = {"ps": "n", "(take (m / 2) qs)": "m / 2"}.get(others, "m")
        if self.chance(0.25):
            others, width = "(iota m)", "m"
            one = f"(let q = {self.one_of('qs[j]', 'qs[m - 1 - j]', 'qs[j + 1 - h % 2]' if self.may_fail else 'qs[j]')} in if {self.one_of('i == j', 'i < j', 'j % 2 == 0')} then {one} else {self.constant()})"
            inner = self.total(f"map (\\j -> {one}) {others}", width)
            rows = f"map (\\i -> let p = ps[i] in {inner}) (iota n)"
        elif self.chance(0.15):
            inner = self.total(f"map (\\q -> {one}) (take (i % (m + 1)) qs)", "i % (m + 1)")
            rows = f"map2 (\\p i -> {inner}) ps (iota n)"
        else:
            inner = self.total(f"map (\\q -> {one}) {others}", width)
            rows = f"map (\\p -> {inner}) ps"
        return self.one_of(rows, rows, f"[{self.total(rows, 'n')}]", f"[{self.total(rows, 'n')}]", f"map (\\p -> map (\\q -> {one}) {others} |> {self.one_of('reverse', 'id')} |> \\r -> {self.total('r', width)}) ps" if "i ==" not in one and " i " not in one and " j" not in one else rows)

    # ---- windows

    def bound(self, i, n):
        """A place that goes with i, within 0 .. n."""
        c = self.random.randint(0, 5)
        if self.may_fail and self.chance(0.3):
            return self.one_of(f"({i} + {c})", f"({i} - {c})", f"(2 * {i} - h)", f"({i} + h)", f"({n} + h - {c})")
        return self.one_of(i, f"({i} + 1)", f"(i64.max 0 ({i} - {c}))", f"(i64.min {n} ({i} + {c}))", "0", n, f"({n} - {i})", f"(i64.min {n} (i64.max 0 (2 * {i} - {c})))", f"({i} / 2)", f"(i64.max 0 (i64.min {n} ({i} + h - {c})))",
                         f"(i64.min {n} (3 * {i}))", f"(i64.max {i} ({n} / 2))")

    def windows(self):
        n, row, i = self.one_of(("d", "w", "i"), ("m", "u", "i"), ("(n * d)", "all", "i"))
        width = n
        lo, hi = self.bound(i, width), self.bound(i, width)
        back = self.one_of("j", "j", f"({lo} + ({hi} - 1 - j))", f"({width} - 1 - j)")
        element = self.one_of(f"{row}[{back}]", f"{row}[j] * {row}[i - j]" if lo == "0" and hi in ("i", "(i + 1)") and width != "(n * d)" else f"{row}[j]", f"(if j % 3 == 0 then {row}[{back}] else k)", f"{self.type}.max {row}[i] {row}[j]")
        if "i - j" in element and self.type[0] == "f":
            element = element.replace(" * ", " + ")
        spanned = f"i64.max 0 ({hi} - {lo})"
        s = self.fresh("s")
        value = self.one_of(self.total(f"map (\\j -> {element}) ({lo}..<i64.max {lo} {hi})", spanned), self.total(f"tabulate ({spanned}) (\\t -> let j = {lo} + t in {element})", spanned),
                          f"(loop {s} = k for t < {spanned} do let j = t + {lo} in {self.type}.max ({self.type}.min {s} 20) ({element}))", f"(loop ({s}, j) = (k, {lo}) while j < {hi} && {s} < 7 do ({self.type}.max {s} ({element}), j + 1)).0",
                          self.total(f"map (\\x -> {self.term(['x', 'k'], 1)}) {row}[{lo}:i64.max {lo} {hi}]", spanned),
                          f"(loop ({s}, z) = (k, 0) for t < {spanned} do let j = t + {lo} let e = {element} in if e > z then (z, e) else ({s}, z)).0")
        step = self.one_of("", "", "", " |> reverse")
        if self.chance(0.2) and width != "(n * d)":
            return f"flatten (map (\\{'w' if row == 'w' else 'u'} -> map (\\i -> {value}) (iota ({width}))) {'ps' if row == 'w' else '(transpose qs)'}){step}"
        return f"map (\\i -> {value}) (iota ({width})){step}"

    # ---- all pairs in one dimension

    def flat(self):
        make = self.term(["x", "y", "z"], 2)
        nest = self.one_of(f"map (\\x -> map (\\y -> let z = k in {make}) u) w", f"map2 (\\x r -> let z = x + x in map2 (\\x y -> {make}) r w) (take n (replicate n k)) ps", f"map (\\x -> let z = {self.term(['x', 'k'], 1)} in map (\\y -> {make}) (reverse u)) all",
                         f"map (\\i -> map (\\j -> let x = w[i] let y = u[j] let z = {self.type}.i64 (i - j) in {make}) (iota m)) (iota d)", f"map (\\i -> replicate m (let x = w[i] let y = k let z = y in {make})) (iota d)",
                         f"map (\\x -> map (\\r -> let y = {self.total('r', 'd')} let z = x in {make}) qs) w", "transpose ps", "map reverse ps", f"map (\\r -> map2 (\\x y -> let z = k in {make}) r (rotate 1 r)) ps")
        t = self.type
        index = self.one_of("i64.i32 (i32.i64 i % 7)", f"i64.{t} x % 5", "i / 3", f"(if x > k then i64.{t} x else -1)") if t != "f16" else "i % 5"
        op, zero = self.operator()
        return self.one_of(f"filter (\\x -> x {self.one_of('>', '!=', '<=')} k) xs", f"hist {op} {zero} 6 (map2 (\\x i -> {index}) xs (indices xs)) xs", f"scan {op} {zero} xs", f"map (.0) (filter (\\(x, i) -> x > k && i % 2 == 0) (zip xs (indices xs)))",
                         f"scatter (replicate (length xs) k) (map (\\i -> length xs - 1 - i) (indices xs)) xs", f"[{self.total('xs', 'length xs')}]", f"(let (a, b) = partition (> k) xs in b ++ a)",
                         f"map {t}.i64 (hist (+) 0 4 (map2 (\\x i -> if x > k then 1 else i % 6 - 1) xs (indices xs)) (map (\\_ -> 1i64) xs))" if t not in ("u8", "f16") else "xs[::-1]",
                         f"(let i = filter (\\i -> xs[i] > k) (indices xs) in map (\\i -> xs[length xs - 1 - i]) i)"), f"flatten ({nest})"

    # ---- short rows

    def short(self):
        x = self.term(["x", "y"], 2)
        a, b = self.one_of("ps", "(map reverse ps)", "(transpose (reverse (transpose ps)))", "(rotate 1 ps)", "(map (rotate 2) ps)", "(reverse ps)"), self.one_of("ps", "(reverse ps)", "(replicate n w)", "(map (map (+ k)) ps)")
        cube = self.one_of("(unflatten (flatten (replicate 3 ps) |> flatten) :> [3 * n][d]TYPE)".replace("TYPE", self.type), "(ps ++ qs)", "(ps ++ map (map (\\x -> x + k)) qs ++ ps)", "(transpose (transpose ps))")
        op, zero = self.operator()
        return self.one_of(f"flatten (map2 (map2 (\\x y -> {x})) {a} {b})", f"flatten (map (\\p -> map (\\x -> let y = k in {x}) p) {cube})", f"flatten (map transpose (replicate 2 ({a})) |> map (map (\\r -> {self.total('r', 'n')})))",
                         f"flatten (map (scan {op} {zero}) {cube})", f"map (\\p -> {self.total('p', 'd')}) {cube}", f"flatten (map (\\p -> (copy p) with [d / 2:] = map (\\x -> let y = k in {x}) p[d / 2:]) {a})",
                         f"flatten (map (\\r -> map2 (\\x y -> {x}) r[::-1] r) {a})", f"reduce (map2 {op}) (replicate d {zero}) {cube}", f"flatten (scan (map2 {op}) (replicate d {zero}) {cube})",
                         f"flatten (transpose (map2 (\\p y -> map (\\x -> {x}) p) {a} (map (\\p -> {self.total('p', 'd')}) ps)))",
                         f"(\\r -> flatten r.0) (loop (a, b) = (copy ({a}), copy ps) for t < h % 4 do (b, map2 (map2 (\\x y -> {x})) a (reverse b)))")

    # ---- parts, records, changes

    def parts(self):
        t, x = self.type, self.term(["x", "y"], 2)
        op, zero = self.operator()
        return self.one_of(
            f"map (\\x -> let y = k in {x}) w ++ map (\\x -> let y = x in {x}) u ++ [k]", f"scatter (replicate (d + m + 3) k) (map (\\i -> {self.one_of('d + m + 2 - i', 'i', 'if i % 2 == 0 then i + 3 else i - 1', '(i + 5) % (d + m)')}) (iota (d + m))) (w ++ map (\\x -> let y = k in {x}) u)",
            f"scatter (scatter (copy all) (map (* 2) (iota d)) w) (map (\\i -> n * d - 1 - 2 * i) (iota m)) u",
            f"map (\\r -> {t}.max r.a r.b) (scan (\\p q -> {{a = {t}.max p.a q.a, b = {t}.min p.b q.b, c = if q.c then true else p.c}}) {{a = {t}.lowest, b = {t}.highest, c = false}} (map (\\x -> {{a = x, b = k, c = x > k}}) all))",
            f"map (\\r -> r.1) (scan (\\(f, x) (g, y) -> (f || g, if g then y else {'x + y' if t != 'f16' else f'{t}.max x y'})) (false, {'0' if t != 'f16' else 'f16.lowest'}) (map2 (\\x i -> (i % 5 == 3 || x > k, x)) all (indices all)))",
            f"map (\\(a, b) -> {t}.max a ({t}.min b 9)) (reduce_by_index (replicate 5 ({t}.lowest, {t}.highest)) (\\(a, b) (c, e) -> ({t}.max a c, {t}.min b e)) ({t}.lowest, {t}.highest) (map (\\i -> {self.one_of('i % 5', 'i / 2', 'i % 7 - 1')}) (indices all)) (map (\\x -> (x, x)) all))",
            f"map (.1) (reduce_by_index (replicate 4 (i64.highest, k)) (\\p q -> if p.0 < q.0 then p else q) (i64.highest, k) (map (\\i -> i * 7 % 5) (indices all)) (zip (indices all) all))",
            f"map (\\p -> (loop (i, s) = (0, k) while i < d && p[i] <= s do (i + 1, {t}.max s p[i])).1) ps",
            f"map (\\p -> (loop (i, s, found) = (0i64, k, false) while i < d && not found do if p[i] > k then (i, p[i], true) else (i + 2, s, found)).1) ps",
            f"(loop (a, b) = (copy w, map (\\x -> let y = k in {x}) w) for i < d do let t = a[i] in (b with [d - 1 - i] = t, a))  |> \\(a, b) -> map2 (\\x y -> {x}) a b",
            f"(loop (a, b, s) = (copy w, replicate d k, k) for i < d do let s' = {t}.max s a[d - 1 - i] let a' = a with [i] = {t}.min s' 20 in (b with [i] = a'[i / 2], a', s')) |> \\(a, b, s) -> map2 (\\x y -> {t}.max s ({x})) a b",
            f"flatten (map (\\p -> loop a = copy p for i < d do if a[i] > k then a with [d - 1 - i] = a[i / 2] else a with [i] = {t}.max a[i] a[d - 1 - i]) ps)",
            f"(copy all) with [0:n * d:2] = map (\\x -> let y = k in {x}) all[0:n * d:2]", "all[::-1] ++ all[::2] ++ reverse all[::2]",
            f"map (\\p -> let (a, b) = partition (> k) p in {self.total('(a ++ b)', 'length a + length b')}) ps", f"map (\\i -> {self.total('(concat (take i w) (drop (d - i) w))', '2 * i')}) (iota d)",
            f"map {t}.bool (map2 (\\a b -> a && b) (map (> k) all) (scan (||) false (map (\\x -> x < k) all)))",
            f"(let g (c: i64) (y: {t}) : {t} = loop y for _t < c do {t}.max y (k + k) in map2 g (map (% 3) (indices all)) all)")

    def program(self):
        return None, None

    def definitions(self):
        return ""

    def entry(self, name):
        self.type = self.types[name] = self.one_of(*TYPES)
        self.ranks[name] = 2
        t, kind = self.type, self.one_of("of_pairs", "of_pairs", "windows", "windows", "flat", "short", "parts")
        body = getattr(self, kind)()
        body = f"let xs = {body[1]} in {body[0]}" if kind == "flat" else body
        return f"entry {name} [n] [m] [d] (ps: [n][d]{t}) (qs: [m][d]{t}) (w: [d]{t}) (u: [m]{t}) (k: {t}) (h: i64) : []{t} =\n  let all = flatten ps let _ = all in\n  {body}\n"

    def text(self, _lines, _results):
        return "\n".join(self.entry(name) for name in ("main", "second", "third"))

    def input(self, entry="main"):
        t = self.types[entry]
        n, m, d = (self.one_of(*sizes) for sizes in self.sizes)
        if n * m * d > 40000:
            d = d % 4
        number = lambda: f"{self.random.randint(0 if t[0] == 'u' else -4, 5)}{t}"
        row = lambda n: f"empty([0]{t})" if n == 0 else "[" + ", ".join(number() for _ in range(n)) + "]"
        matrix = lambda n: f"empty([{n}][{d}]{t})" if n * d == 0 else "[" + ", ".join(row(d) for _ in range(n)) + "]"
        return f"{matrix(n)} {matrix(m)} {row(d)} {row(m)} {number()} {self.random.randint(0, 9)}i64"
