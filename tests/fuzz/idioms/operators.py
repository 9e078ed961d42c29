"""Reductions, scans and histograms whose operators take tuples, records and arrays; sorts, partitions
and histograms by own code."""
from idioms.words import Words, size

INTEGERS = ("i32", "u32", "i64", "u8", "i16", "u16")

# Of two numbers a and b of type t: an associative operator, its neutral element, and an element made of x
# and its index i.
PAIRS = (
    ("(\\(a, b) (c, d) -> (a * c, b * c + d))", "(1, 0)", "(x, x + 1)"),
    ("(\\(a, b) (c, d) -> (a + c, b + d + a * c))", "(0, 0)", "(x, 0)"),
    ("(\\(a, b) (c, d) -> (a + c, b + d))", "(0, 0)", "(x, {t}.bool (x > 3))"),
    ("(\\(a, b) (c, d) -> ({t}.min a c, {t}.max b d))", "({t}.highest, {t}.lowest)", "(x, x)"),
    ("(\\(a, b) (c, d) -> if b == 0 then (c, d) else if d == 0 then (a, b) else (a, d))", "(0, 0)", "(x, 1 + (x & 1))"),
    ("(\\(a, b) (c, d) -> if a > c || a == c && b < d then (a, b) else (c, d))", "({t}.lowest, {t}.highest)",
     "(x & 3, {t}.i64 i)"),
    ("(\\(a, b) (c, d) -> (a ^ c, b | d))", "(0, 0)", "(x, x << 1)"),
)
MATRIX = "(\\(a, b, c, d) (e, f, g, h) -> (a * e + b * g, a * f + b * h, c * e + d * g, c * f + d * h))"
STATISTICS = ("(\\a b -> {count = a.count + b.count, sum = a.sum + b.sum, "
              "least = i64.min a.least b.least})", "{count = 0i32, sum = 0i64, least = i64.highest}")


class Operators(Words):
    def integers(self, shape=None, rank=1):
        """An array of whole numbers; another one, converted."""
        name, type_, shape = self.array(rank=rank, shape=shape)
        if type_[0] != "f":
            return name, type_, shape
        map_ = "map" if rank == 1 else "map (map"
        return f"({map_} i32.{type_}{')' * (rank - 1)} {name})", "i32", shape

    def pair(self, type_):
        op, neutral, make = self.pick(PAIRS)
        return op.format(t=type_), neutral.format(t=type_), f"(\\i x -> {make.format(t=type_)})"

    def pairs(self):
        """A scan or a reduction of pairs, of whole arrays and of pieces."""
        name, type_, (dim,) = self.integers()
        n, c = size(dim), self.pick((3, 16))
        op, neutral, make = self.pair(type_)
        made = f"(map2 {make} (iota {n}) {name})"
        part = self.pick((0, 1))
        return self.pick((
            f"(unzip (scan {op} {neutral} {made})).{part}",
            f"map (.{part}) (scan {op} {neutral} {made})",
            f"(let t = reduce {op} {neutral} {made} in map (\\x -> x - t.{part}) {name})",
            f"(let ps = {made} in tabulate {n} (\\i -> (reduce {op} {neutral} ps[i:i64.min {n} (i + {c})]).{part}))",
            f"(let ps = scan {op} {neutral} {made} in map2 (\\p x -> p.0 - p.1 + x) ps {name})",
            f"reverse (map (.{part}) (scan {op} {neutral} (reverse {made})))",
            f"(let (as, bs) = unzip (scan {op} {neutral} {made}) in map2 (^) as bs)")), type_, (dim,)

    def pairs_of_rows(self):
        name, type_, (first, second) = self.integers(rank=2)
        op, neutral, make = self.pair(type_)
        a, b = size(first), size(second)
        row = f"(map2 {make} (iota {b}) r)"
        part = self.pick((0, 1))
        exp = self.pick((
            (f"map (\\r -> (reduce {op} {neutral} {row}).{part}) {name}", (first,)),
            (f"map (\\r -> map (.{part}) (scan {op} {neutral} {row})) {name}", (first, second)),
            (f"map (\\r -> (reduce {op} {neutral} (map2 {make} (iota {a}) r)).{part}) (transpose {name})", (second,)),
            (f"(let rs = map (\\r -> {row}) {name} in map (map (.{part})) (scan (map2 {op}) (replicate {b} {neutral}) rs))",
             (first, second)),
            (f"(let rs = map (\\r -> {row}) {name} in map (.{part}) (reduce (map2 {op}) (replicate {b} {neutral}) rs))",
             (second,)),
            (f"(let ps = map (\\r -> reduce {op} {neutral} {row}) {name} in map (.{part}) (scan {op} {neutral} ps))", (first,))))
        return exp[0], type_, exp[1]

    def matrix_products(self):
        name, type_, (dim,) = self.integers()
        kind = self.pick(("u32", "i64", type_))
        made = f"(map (\\v -> let x = {kind}.{type_} v in ({self.pick(('x, 1, 1, 0', '1, x, 0, 1', 'x, x + 1, x - 1, 2'))})) {name})"
        n = size(dim)
        part = self.pick((0, 1, 2, 3))
        arrays = (f"scan (\\a b -> [[a[0, 0] * b[0, 0] + a[0, 1] * b[1, 0], a[0, 0] * b[0, 1] + a[0, 1] * b[1, 1]], "
                  f"[a[1, 0] * b[0, 0] + a[1, 1] * b[1, 0], a[1, 0] * b[0, 1] + a[1, 1] * b[1, 1]]]) "
                  f"[[1, 0], [0, 1]] (map (\\(a, b, c, d) -> [[a, b], [c, d]]) {made})")
        loops = (f"scan (\\a b -> tabulate_2d 2 2 (\\i j -> {kind}.sum (map (\\l -> a[i, l] * b[l, j]) (iota 2)))) "
                 f"(tabulate_2d 2 2 (\\i j -> {kind}.bool (i == j))) (map (\\(a, b, c, d) -> [[a, b], [c, d]]) {made})")
        return self.pick((
            f"map (.{part}) (scan {MATRIX} (1, 0, 0, 1) {made})", f"map (\\q -> q[{part // 2}, {part % 2}]) ({arrays})",
            f"map (\\q -> q[{part // 2}, {part % 2}]) ({loops})",
            f"(let t = reduce {MATRIX} (1, 0, 0, 1) {made} in replicate {n} (t.{part}))",
            f"(let ps = {made} in tabulate {n} (\\i -> (reduce {MATRIX} (1, 0, 0, 1) ps[i64.max 0 (i - 9):i]).{part}))")), kind, (dim,)

    def statistics(self):
        """Records; the greatest with its place; what a sum type says."""
        name, type_, (dim,) = self.integers()
        n, (op, neutral) = size(dim), STATISTICS
        made = f"(map (\\x -> {{count = 1i32, sum = i64.{type_} x, least = i64.{type_} x}}) {name})"
        field = self.pick(("count", "sum", "least"))
        best = "(\\(a, i) (b, j) -> if a > b || a == b && i < j then (a, i) else (b, j))"
        maybe = ("(\\a b -> match (a, b) case (#none, _) -> b case (_, #none) -> a "
                 "case (#some x, #some y) -> if x < y then #some y else #some x)")
        return self.pick((
            f"map (\\r -> i64.{'i32' if field == 'count' else 'i64'} r.{field}) (scan {op} {neutral} {made})",
            f"(let t = reduce {op} {neutral} {made} in map (\\x -> i64.{type_} x - t.{field if field != 'count' else 'sum'}) {name})",
            f"map (\\(a, i) -> i64.{type_} a * 3 + i) (scan {best} ({type_}.lowest, -1) (zip {name} (iota {n})))",
            f"(let (a, at) = reduce {best} ({type_}.lowest, -1) (zip {name} (iota {n})) "
            f"in map2 (\\x i -> if i == at then 77 else i64.{type_} (x - a)) {name} (iota {n}))",
            f"map (\\v -> match v case #some x -> i64.{type_} x case #none -> -1) (scan {maybe} (#none : #some {type_} | #none) "
            f"(map (\\x -> if {self.comparison([('x', type_)])} then #some x else #none) {name}))")), "i64", (dim,)

    def bins_of_pairs(self):
        """Histograms of pairs, with bins below and above."""
        name, type_, (dim,) = self.integers()
        to = self.dim()
        n, m, part = size(dim), size(to), self.pick((0, 1))
        bins = self.pick((f"i % 7 - 1", f"i64.{type_} {name}[i] % (2 + {m}) - 1", "i / 3", f"i * 5 % ({m} + 3)", "0", "-1",
                          f"i64.{type_} {name}[i]"))
        op, neutral, make = self.pick([
            ("(\\(a, b) (c, d) -> (a + c, b + d))", "(0, 0)", f"(\\i x -> (x, {type_}.bool (x > 3)))"),
            (f"(\\(a, b) (c, d) -> ({type_}.min a c, {type_}.max b d))", f"({type_}.highest, {type_}.lowest)", "(\\_ x -> (x, x))"),
            ("(\\(a, b) (c, d) -> if a > c || a == c && b < d then (a, b) else (c, d))", f"({type_}.lowest, {type_}.highest)",
             f"(\\i x -> (x & 3, {type_}.i64 i))")])
        made = f"(map2 {make} (iota {n}) {name})"
        start = self.pick((f"(replicate {m} {neutral})", f"(map (\\i -> ({type_}.i64 i, {type_}.i64 (i % 3))) (iota {m}))"))
        return (f"map (.{part}) (reduce_by_index {start} {op} {neutral} (tabulate {n} (\\i -> {bins})) {made})",
                type_, (to,))

    def bins_of_rows(self):
        """Rows into bins; a histogram for each row; histograms within loops and of wide bins."""
        name, type_, (first, second) = self.integers(rank=2)
        a, b, to = size(first), size(second), self.dim()
        m = size(to)
        op, neutral = self.pick((("(+)", "0"), (f"{type_}.max", f"{type_}.lowest"), ("(^)", "0"), ("(|)", "0")))
        bins = self.pick(("i % 3 - 1", f"i * 5 % ({m} + 2)", "i / 2", "1"))
        own = self.pick((f"i64.{type_} r[j] % ({b} + 2) - 1", "j / 2", f"i64.{type_} r[j]", "j % 3"))
        c = self.pick((3, 40))
        exp = self.pick((
            (f"(let h = reduce_by_index (replicate {m} (replicate {b} {neutral})) (map2 {op}) (replicate {b} {neutral}) "
             f"(tabulate {a} (\\i -> {bins})) {name} in map (\\r -> reduce {op} {neutral} r) h)", (to,)),
            (f"map (\\r -> reduce_by_index (copy r) {op} {neutral} (tabulate {b} (\\j -> {own})) r) {name}", (first, second)),
            (f"map (\\r -> reduce (+) 0 (hist {op} {neutral} {c} (tabulate {b} (\\j -> {own})) r)) {name}", (first,)),
            (f"map (\\r -> let h = hist {op} {neutral} {c} (tabulate {b} (\\j -> {own})) r in map (\\j -> h[j % {c}]) (iota {b})) "
             f"{name}", (first, second)),
            (f"map (\\r -> (loop (h, t) = (copy r, 0) for x in r do (reduce_by_index h {op} {neutral} [t, t % 2] [x, 1], t + 1)).0) "
             f"{name}", (first, second)),
            (f"map (\\r -> map (\\(c, x) -> x + {type_}.i32 c) (reduce_by_index (map (\\x -> (1i32, x)) r) (\\(a, b) (c, d) -> (a + c, "
             f"{type_}.max b d)) (0, {type_}.lowest) (tabulate {b} (\\j -> {own})) (map (\\x -> (1i32, x)) r))) {name}",
             (first, second)),
            (f"transpose (map (\\r -> hist {op} {neutral} {a} (tabulate {a} (\\j -> i64.{type_} r[j] % {a})) r) "
             f"(transpose {name}))", (first, second))))
        return exp[0], type_, exp[1]

    def sorted(self):
        """Sorts as they are written."""
        name, type_, (dim,) = self.integers()
        n = size(dim)
        bits = self.pick((3, 8))
        bit = f"i32.{type_} (x >> {type_}.i32 b) & 1"
        radix = (f"loop a = copy {name} for b < {bits} do let fs = map (\\x -> {bit}) a let zeros = map (\\f -> i64.i32 (1 - f)) fs "
                 f"let low = scan (+) 0 zeros let high = scan (+) 0 (map i64.i32 fs) let c = if {n} == 0 then 0 else low[{n} - 1] "
                 f"let at = map3 (\\f l h -> if f == 0 then l - 1 else c + h - 1) fs low high in scatter (map (\\x -> x) a) at a")
        split = (f"loop a = copy {name} for b < {bits} do let (p, q) = partition (\\x -> {bit} == 0) a in (p ++ q) :> [{n}]{type_}")
        ranks = (f"(let v = {name} let at = tabulate {n} (\\i -> i64.sum (tabulate {n} (\\j -> i64.bool (v[j] < v[i] || "
                 f"v[j] == v[i] && j < i)))) in scatter (map (\\x -> x) {name}) at {name})")
        counting = (f"(let c = hist (+) 0 16 (map (\\x -> i64.{type_} (x & 15)) {name}) (replicate {n} 1i64) let s = scan (+) 0 c "
                    f"in (loop (out, s) = (copy {name}, s) for i < {n} do let x = {name}[{n} - 1 - i] let k = i64.{type_} (x & 15) "
                    f"let s[k] = s[k] - 1 in (out with [s[k]] = x, s)).0)")
        bitonic = (f"(let w = tabulate 32 (\\i -> if i < {n} then {name}[i] else {type_}.highest) let w = loop w for p < 5 do "
                   f"loop w for q < p + 1 do let d = 1 << (p - q) in tabulate 32 (\\i -> let j = i ^ d let up = (i >> (p + 1)) & 1 == 0 in "
                   f"if (i < j) == up then {type_}.min w[i] w[j] else {type_}.max w[i] w[j]) in tabulate {n} (\\i -> w[i % 32]))")
        odd_even = (f"loop a = {name} for t < {self.pick((3, 8))} do tabulate {n} (\\i -> let j = if (i + t) % 2 == 0 then i + 1 else i - 1 in "
                    f"if j < 0 || j >= {n} then a[i] else if i < j then {type_}.min a[i] a[j] else {type_}.max a[i] a[j])")
        merge = (f"(let h = {n} / 2 let x = scan {type_}.max {type_}.lowest {name}[:h] let y = scan {type_}.max {type_}.lowest {name}[h:] in "
                 f"(loop (out, i, j) = (copy {name}, 0, 0) for p < {n} do if j >= {n} - h || i < h && x[i] <= y[j] then "
                 f"(out with [p] = x[i], i + 1, j) else (out with [p] = y[j], i, j + 1)).0)")
        return self.pick((radix, split, ranks if dim != "s" else radix, counting, bitonic, odd_even, merge)), type_, (dim,)

    def parted(self):
        """Three parts, of which each may be empty; places in them; runs of equal elements."""
        name, type_, (dim,) = self.integers()
        n = size(dim)
        p, q = (self.comparison([("x", type_)] + self.scalars) for _ in range(2))
        return self.pick((
            f"(let (a, b, c) = partition2 (\\x -> {p}) (\\x -> {q}) {name} in (c ++ a ++ reverse b) :> [{n}]{type_})",
            f"(let (a, b) = partition (\\x -> {p}) {name} let (c, d) = partition (\\x -> {q}) a in (d ++ b ++ c) :> [{n}]{type_})",
            f"(let (a, b) = unzip (filter (\\(x, i) -> {p} && i % 2 == 0) (zip {name} (iota {n}))) in scatter (copy {name}) b "
            f"(map (+ 1) a))",
            f"(let heads = filter (\\i -> i == 0 || {name}[i] != {name}[i - 1]) (iota {n}) let c = length heads in "
            f"tabulate {n} (\\i -> if i < c then {type_}.i64 ((if i + 1 < c then heads[i + 1] else {n}) - heads[i]) else 0))",
            f"(let ks = filter (\\x -> {p}) {name} let s = reduce (+) 0 ks in map2 (\\x t -> x + t) {name} "
            f"(scan (+) 0 (map (\\x -> if {q} then s else x) {name})))",
            f"(let ks = filter (\\x -> {p}) {name} let vs = scan (+) 0 ks in scatter (copy {name}) (map (\\i -> i * 2) (indices vs)) vs)",
            f"(let bs = map (\\x -> {p}) {name} in map2 (\\b i -> {type_}.bool (b && i > 0)) (scan (||) false bs) (scan (+) 0 "
            f"(map i64.bool bs)))")), type_, (dim,)

    def kept_of_rows(self):
        """Filters and sorts within rows."""
        name, type_, (first, second) = self.integers(rank=2)
        b = size(second)
        p = self.comparison([("x", type_)] + self.scalars)
        exp = self.pick((
            (f"map (\\r -> {type_}.i64 (length (filter (\\x -> {p}) r))) {name}", (first,)),
            (f"map (\\r -> let c = filter (\\x -> {p}) r let s = scan (+) 0 c in tabulate {b} (\\j -> if j < length s then s[j] else 9)) "
             f"{name}", (first, second)),
            (f"map (\\r -> let (c, d) = partition (\\x -> {p}) r in reduce {type_}.max {type_}.lowest c - {type_}.sum d) {name}", (first,)),
            (f"map (\\r -> let (c, d) = partition (\\x -> {p}) r in (d ++ c) :> [{b}]{type_}) {name}", (first, second)),
            (f"(let ks = filter (\\r -> {type_}.sum r > 3) {name} in tabulate_2d {size(first)} {b} (\\i j -> if i < length ks then "
             f"ks[i, j] else 5))", (first, second)),
            (f"map (\\r -> loop a = copy r for b < 3 do let (p, q) = partition (\\x -> (x >> {type_}.i32 b) & 1 == 0) a in "
             f"(p ++ q) :> [{b}]{type_}) {name}", (first, second))))
        return exp[0], type_, exp[1]

    STATEMENTS = (pairs, pairs, matrix_products, statistics, bins_of_pairs, bins_of_pairs, sorted, sorted, parted, parted)
    OF_MATRICES = (pairs_of_rows, pairs_of_rows, bins_of_rows, bins_of_rows, bins_of_rows, kept_of_rows)
