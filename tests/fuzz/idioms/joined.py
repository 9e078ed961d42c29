"""What maps make put together in all positions, interleaved, turned; histograms of it and of arrays; operators
that look into tables; rows of a point's own that trade places; products added up round by round."""
from idioms.words import Words, size

COMPOSED = "(\\p q -> map (\\a -> q[i64.u8 a]) p)"  # of two tables, one after the other
IDENTITY = "(map u8.i64 (iota {}))"
LATER = "(\\(a, r) (b, s) -> if a > b then (a, r) else (b, s))"  # by marks that differ, or are -1


class Joined(Words):
    # ---- parts

    def part(self, type_, length, dim):
        """An array of a length; of at most as many elements as an array of that dimension has."""
        name, of, _ = self.array(shape=(dim,))
        first = f"{name}[:{length}]"
        x = self.value(type_, [("x", of)] + self.scalars, 2)
        at = self.value(type_, [("i", "i64"), (f"{name}[i]", of)] + self.scalars, 2)
        other = self.value(type_, self.scalars, 1)
        op, neutral = self.reduction(of)
        converted = f"map (\\x -> {type_}.{of} x)"
        return self.pick((
            f"map (\\x -> {x}) {first}", f"map (\\x -> {x}) {first}", f"tabulate ({length}) (\\i -> {at})",
            f"replicate ({length}) {other}", f"map {type_}.i64 (iota ({length}))", f"{converted} {first}",
            f"{converted} {name}[{size(dim)} - ({length}):]", f"{converted} (scan {op} {neutral} {first})",
            f"{converted} (reverse {first})", f"(map (\\x -> {x}) {first})[::-1]",
            f"rotate {self.pick((1, '(-2)', '(i64.i32 k)'))} (map (\\x -> {x}) {first})",
            f"map (\\i -> {self.value(type_, [('i', 'i64'), ('k', 'i32')], 2)}) (iota ({length}))",
            f"(if {self.comparison(self.scalars)} then map (\\x -> {x}) {first} else replicate ({length}) {other})"))

    def joined(self, type_, dim):
        """Lets, arrays put together, and how many elements that is: at least those of a vector."""
        n, c = size(dim), self.pick((2, 3, 16))
        lets = f"let h = {self.pick((f'{n} / 2', f'i64.min {c} {n}', f'{n} - {n} / 3', f'i64.max 0 ({n} - 1)'))} "
        lengths = list(self.pick((("h", f"{n} - h"), ("h", f"{n} - h", n), (n, "h"), (n, n), ("h", n, f"{n} - h"))))
        parts = [self.part(type_, length, dim) for length in lengths]
        if self.chance(0.4):
            shared = self.random.randrange(len(parts))
            lets += f"let ps = ({parts[shared]}) :> [{lengths[shared]}]{type_} "
            parts[shared] = "ps"
            if self.chance(0.5):
                parts.append(self.pick(("ps", "map (+ 1) ps")))
                lengths.append(lengths[shared])
        if self.chance(0.3):
            at = self.random.randint(0, len(parts))
            parts.insert(at, f"replicate {c} {self.value(type_, self.scalars, 0)}")
            lengths.insert(at, str(c))
        if self.chance(0.2):
            parts.insert(0, f"[{self.value(type_, self.scalars, 1)}, {self.value(type_, self.scalars, 0)}]")
            lengths.insert(0, "2")
        return lets, " ++ ".join(parts), " + ".join(lengths)

    def put_together(self):
        dim, type_ = self.dim(), self.type()
        n = size(dim)
        lets, text, total = self.joined(type_, dim)
        lets += f"let t = {total} let z = ({text}) :> [t]{type_} "
        op, neutral = self.reduction(type_)
        read = self.pick((
            f"tabulate {n} (\\i -> z[i])", f"tabulate {n} (\\i -> z[t - 1 - i])",
            f"tabulate {n} (\\i -> z[{self.place('i', n)}] - z[t - 1 - ({self.place('i', n)})])",
            f"tabulate {n} (\\i -> z[(i * 2) % t])", f"z[t - {n}:] :> [{n}]{type_}", f"z[:{n}]",
            f"(scan {op} {neutral} z)[t - {n}:] :> [{n}]{type_}", f"(rotate {self.pick((1, '(-3)'))} z)[:{n}]",
            f"(reverse z)[:{n}]", f"(map (\\x -> {self.value(type_, [('x', type_)] + self.scalars, 2)}) z)[:{n}]",
            f"let c = filter (\\x -> {self.comparison([('x', type_)] + self.scalars)}) z "
            f"in tabulate {n} (\\i -> if i < length c then c[i] else 3)",
            f"let s = reduce {op} {neutral} z in map (\\x -> x - s) z[:{n}]",
            f"map2 (\\a b -> a - b) z[:{n}] z[t - {n}:] :> [{n}]{type_}",
            f"let u = z with [0:{n} / 2] = replicate ({n} / 2) 4 in u[:{n}]",
            f"map2 (\\x i -> if i == 0 then x else z[i - 1]) z (iota t) |> (\\u -> u[:{n}])"))
        return f"({lets}in ({read}) :> [{n}]{type_})", type_, (dim,)

    def in_points(self):
        """Put together by each point, and in each round of a loop."""
        name, type_, (dim,) = self.array()
        n, c, d = size(dim), self.pick((2, 3, 8)), self.pick((1, 4))
        op, neutral = self.reduction(type_)
        atoms = [("x", type_), ("i", "i64")] + self.scalars
        row = (f"map (\\i -> {self.value(type_, atoms, 2)}) (iota {c}) ++ {self.pick((f'replicate {d} x', f'map {type_}.i64 (iota {d})'))}"
               f"{self.pick(('', ' ++ [x]', ' ++ [x, 3]'))}")
        body = self.value(type_, [("y", type_)], 1)
        return self.pick((
            f"map (\\x -> reduce {op} {neutral} ({row})) {name}", f"map (\\x -> last (scan {op} {neutral} ({row}))) {name}",
            f"map (\\x -> let r = {row} in loop s = x for y in r do s * 2 + y) {name}",
            f"map (\\x -> let r = {row} in r[{self.pick((0, c - 1, c))}] - last r) {name}",
            f"(loop a = {name} for t < 3 do let h = {n} / 2 in (map (\\y -> {body}) a[h:] ++ a[:h]) :> [{n}]{type_})",
            f"(loop a = {name} for t < 3 do let h = i64.min t {n} in (map (\\y -> {body}) a[:h] ++ map (+ 1) a[h:]) :> [{n}]{type_})",
            f"(loop a = {name} for t < 2 do (a[::2] ++ map (\\y -> {body}) a[1::2]) :> [{n}]{type_})")), type_, (dim,)

    def interleaved(self):
        """Arrays of which each is a column."""
        dim, type_ = self.dim(), self.type()
        n, c = size(dim), self.pick((2, 2, 3, 4))
        op, neutral = self.reduction(type_)
        lets, names = "", []
        for q in range(c):
            lets += f"let e{q} = ({self.part(type_, n, dim)}) :> [{n}]{type_} "
            names.append(f"e{q}")
        z = f"transpose [{', '.join(names)}]"
        read = self.pick((
            f"map (\\r -> reduce {op} {neutral} r) ({z})", f"map (\\r -> r[0] - r[{c - 1}]) ({z})",
            f"(flatten ({z}))[:{n}]", f"tabulate {n} (\\i -> (flatten ({z}))[i * {c - 1} % ({c} * {n})])",
            f"let f = flatten ({z}) let s = scan {op} {neutral} f in tabulate {n} (\\i -> s[i * {c} + {c - 1}] - f[i])",
            f"let y = {z} in tabulate {n} (\\i -> y[i, i % {c}] + {names[0]}[{n} - 1 - i])",
            f"map (\\r -> last (scan {op} {neutral} r)) (reverse ({z}))", f"(transpose ({z}))[{c - 1}]",
            f"(flatten (rotate 1 ({z})))[:{n}]", f"map (\\r -> loop s = 0 for x in r do s * 2 - x) (rotate (-1) ({z}))",
            f"let y = {z} ++ {z} in tabulate {n} (\\i -> y[i * 2, 1])"))
        return f"({lets}in ({read}) :> [{n}]{type_})", type_, (dim,)

    def turned(self):
        name, type_, (dim,) = self.array()
        n = size(dim)
        x = self.value(type_, [("x", type_)] + self.scalars, 2)
        c = self.pick((1, "(-1)", 5, f"({n} / 2)", f"(-{n})", "(i64.i32 k)", f"({n} + 1)", "(-1000)"))
        made = f"(map (\\x -> {x}) {name})"
        return self.pick((
            f"rotate {c} {made}", f"{made}[::-1] :> [{n}]{type_}", f"rotate {c} (reverse {made})", f"reverse (rotate {c} {made})",
            f"map (\\x -> {x}) (rotate {c} {made})", f"map2 (\\a b -> a - b) {name} (rotate {c} {made})",
            f"(let z = {made} in map3 (\\a b c -> a + b - c) z (rotate {c} z) (rotate 1 z))",
            f"rotate {c} (rotate 1 {made})", f"scan (+) 0 (rotate {c} {made})" if type_[0] != "f" else f"rotate {c} {made}",
            f"(loop a = {name} for t < 3 do rotate {c} (map (\\x -> {x}) a))")), type_, (dim,)

    # ---- histograms

    def bins_put_together(self):
        """Of both ends of edges: the same places twice, or other ones with other values."""
        name, type_, (dim,) = self.array()
        to = self.dim()
        n, m = size(dim), size(to)
        op, neutral = self.pick(((("(+)", "0"), (f"{type_}.max", f"{type_}.lowest"), (f"{type_}.min", f"{type_}.highest"))))
        place = lambda: self.pick((f"i % ({m} + 1)", f"(i * 7 + 3) % ({m} + 2) - 1", f"i64.{type_} {name}[i]", "i / 2",
                                   f"{m} - 1 - i", f"(i + 1) % i64.max 1 {m}"))
        lets = f"let is = tabulate {n} (\\i -> {place()}) let js = tabulate {n} (\\i -> {place()}) "
        values = self.pick((f"{name} ++ map (\\x -> {self.value(type_, [('x', type_)], 1)}) {name}", f"{name} ++ {name}",
                            f"replicate ({n} + {n}) 1", f"{name} ++ replicate {n} 2", f"replicate {n} 1 ++ reverse {name}",
                            f"map (+ 1) ({name} ++ {name})"))
        start = self.pick((f"(replicate {m} {neutral})", f"(map {type_}.i64 (iota {m}))"))
        count = self.pick(("is ++ js", "js ++ is", "is ++ map (+ 1) is", f"is ++ replicate {n} 0", "is ++ is"))
        return self.pick((
            f"({lets}in reduce_by_index {start} {op} {neutral} ({count}) ({values}))",
            f"({lets}let b = is ++ js in map2 (\\x c -> x + {type_}.i64 c) (reduce_by_index {start} {op} {neutral} b ({values})) "
            f"(reduce_by_index (replicate {m} 0i64) (+) 0 b (replicate ({n} + {n}) 1)))",
            f"({lets}in map (.0) (reduce_by_index (map (\\x -> (x, x)) {start}) (\\(a, b) (c, d) -> (({op}) a c, ({op}) b d)) "
            f"({neutral}, {neutral}) ({count}) (zip ({values}) ({values}))))")), type_, (to,)

    def bins_of_arrays(self):
        """Rows added to rows; more than one at once; by operators that choose, or look into tables."""
        name, type_, (first, second) = self.array(rank=2)
        a, b, to = size(first), size(second), self.dim()
        m = size(to)
        x = self.value(type_, [("x", type_)] + self.scalars, 1)
        bins = self.pick(("i % 3 - 1", f"i * 5 % ({m} + 2)", f"i % i64.max 1 {m}", "0", f"{m} - 1 - i",
                          f"if {b} == 0 then 0 else i64.{type_} {name}[i, 0]"))
        at = f"(tabulate {a} (\\i -> {bins}))"
        rows = self.pick((name, f"(map (map (\\x -> {x})) {name})", f"(reverse {name})"))
        op, neutral = self.pick((("(+)", "0"), (f"{type_}.max", f"{type_}.lowest"), (f"{type_}.min", f"{type_}.highest")))
        row = f"(replicate {b} {neutral})"
        read = self.pick((f"map (\\r -> reduce {op} {neutral} r) h", "map (\\r -> loop s = 0 for x in r do s * 3 + x) h"))
        least = f"(\\(c, r) (d, s) -> if c < d then (c, r) else (d, s))"
        later = f"(reduce_by_index (replicate {m} (-1i64, {row})) {LATER} (-1i64, {row}) {at} (zip (iota {a}) {rows}))"
        first_ = f"(reduce_by_index (replicate {m} (i64.highest, {row})) {least} (i64.highest, {row}) {at} (zip (iota {a}) {rows}))"
        tables = (f"(hist {COMPOSED} {IDENTITY.format(3)} {m} {at} (map (\\r -> let q = if {b} == 0 then 1 else i64.{type_} r[0] "
                  f"in tabulate 3 (\\j -> u8.i64 ((j + q) % 3))) {rows}))")
        if self.chance(0.15):
            return f"(map (\\p -> p[0] + p[2] * 3) {tables})", "u8", (to,)
        return self.pick((
            f"(let h = hist (map2 {op}) {row} {m} {at} {rows} in {read})",
            f"(let h = reduce_by_index (replicate {m} (map {type_}.i64 (iota {b}))) (map2 {op}) {row} {at} {rows} in {read})",
            f"(let h = map (.1) {later} in {read})", f"(let h = map (.1) {first_} in {read})",
            f"(let (h, c) = unzip (hist (\\(r, c) (s, d) -> (map2 {op} r s, c + d)) ({row}, 0i64) {m} {at} (zip {rows} (replicate {a} 1))) "
            f"in map2 (\\s c -> s - {type_}.i64 c) ({read}) c)",
            f"(let h = hist (map2 {op}) {row} {m} ({at} ++ {at}) ({rows} ++ reverse {rows}) in {read})")), type_, (to,)

    def bins_of_arrays_by_rows(self):
        """A histogram of arrays for each row or column."""
        name, type_, (first, second) = self.array(rank=2)
        a, b, c = size(first), size(second), self.pick((2, 5))
        op, neutral = self.pick((("(+)", "0"), (f"{type_}.max", f"{type_}.lowest")))
        pair = self.pick((f"[x, x + 1]", f"[x, {type_}.i64 j]", f"[{type_}.i64 j, x]"))
        bins = self.pick((f"j % {c}", f"(j * 3) % ({c} + 1) - 1", f"i64.{type_} x % {c}", "j - 1"))
        h = (f"hist (map2 {op}) [{neutral}, {neutral}] {c} (map2 (\\x j -> {bins}) r (iota {{0}})) "
             f"(map2 (\\x j -> {pair}) r (iota {{0}}))")
        by_rows, by_columns = h.format(b), h.format(a)
        return self.pick((
            (f"map (\\r -> let h = {by_rows} in h[0, 0] - h[1, 1]) {name}", type_, (first,)),
            (f"map (\\r -> let h = {by_columns} in reduce {op} {neutral} (flatten h)) (transpose {name})", type_, (second,)),
            (f"map (\\r -> let h = {by_rows} in tabulate {b} (\\j -> h[j % {c}, j % 2])) {name}", type_, (first, second)),
            (f"(let hs = map (\\r -> {by_rows}) {name} in map (\\h -> loop s = 0 for r in h do s * 2 + r[0] - r[1]) hs)",
             type_, (first,))))

    # ---- operators that look into tables

    def composed(self):
        """Automata, as scans of tables; powers of permutations; sums that a table tells."""
        name, type_, (dim,) = self.array()
        n, c = size(dim), self.pick((2, 3, 5))
        key = self.value("i64", [("x", type_), ("i", "i64")], 1)
        state = self.pick((f"((s + q) % {c})", "(if s == q then 0 else s)", f"((s * q) % {c})"))
        table = f"(\\x i -> let q = ({key}) % {c} in tabulate {c} (\\s -> u8.i64 {state}))"
        made = f"(map2 {table} {name} (iota {n}))"
        added = f"(\\a b -> sums[a * {c} + b])"
        sums = f"let sums = tabulate ({c} * {c}) (\\p -> (p / {c} + p % {c}) % {c}) "
        small = f"(map (\\x -> i64.{type_} x % {c}) {name})"
        rest = f"(\\a b -> (a + b) % (i64.max 1 {n}))"
        return self.pick((
            (f"map (\\p -> p[0]) (scan {COMPOSED} {IDENTITY.format(c)} {made})", "u8"),
            (f"map (\\p -> p[{c - 1}]) (scan {COMPOSED} {IDENTITY.format(c)} {made})", "u8"),
            (f"(let p = reduce {COMPOSED} {IDENTITY.format(c)} {made} in tabulate {n} (\\i -> p[i % {c}]))", "u8"),
            (f"({sums}in scan {added} 0 {small})", "i64"),
            (f"({sums}let s = reduce {added} 0 {small} in map (+ s) {small})", "i64"),
            (f"({sums}in tabulate {n} (\\i -> reduce {added} 0 {small}[i:i64.min {n} (i + 20)]))"
             if dim != "s" else f"({sums}in scan {added} 0 {small})", "i64"),
            (f"scan {rest} 0 (map (\\x -> i64.{type_} x % i64.max 1 {n}) {name})", "i64"),
            (f"({sums}in reduce_by_index (replicate {n} 0) {added} 0 (tabulate {n} (\\i -> i / 2)) {small})", "i64"),
            (f"map (.0) (scan {LATER} (-1i64, [0, 0]) (map2 (\\x i -> (if i % 3 == 0 then i else -1, [i, i64.{type_} x])) "
             f"{name} (iota {n})))", "i64"))) + ((dim,),)

    def never(self):
        """What no element is."""
        return "-2"

    def checked_numbers(self):
        """Operators that fail if one of their elements is what none may be."""
        name, type_, (dim,) = self.array()
        n, c, to = size(dim), self.pick((2, 7, 300)), self.dim()
        never = self.never()
        op = f"(\\a b -> assert (a != {never} && b != {never}) (i64.max a b))"
        made = f"(map (\\x -> i64.{type_} x & 511) {name})"
        table = f"let u = tabulate 512 (\\i -> i / {c}) "
        looked = "(\\a b -> if a < 0 then b else if b < 0 then a else if u[a] < u[b] || u[a] == u[b] && a < b then b else a)"
        text, to = self.pick((
            (f"scan {op} (-1) {made}", dim), (f"(let s = reduce {op} (-1) {made} in map (+ s) {made})", dim),
            (f"({table}in scan {looked} (-1) {made})", dim),
            (f"({table}let s = reduce {looked} (-1) {made} in map (+ s) {made})", dim),
            (f"reduce_by_index (replicate {size(to)} (-1)) {op} (-1) (map (% i64.max 1 {size(to)}) {made}) {made}", to),
            (f"({table}in reduce_by_index (replicate {size(to)} (-1)) {looked} (-1) (map (% i64.max 1 {size(to)}) {made}) {made})", to),
            (f"(let rows = map (\\x -> [x, x]) {made} let s = reduce (map2 {op}) [-1, -1] rows in map (+ s[1]) {made})", dim),
            (f"(let rows = map (\\x -> [x, x]) {made} let h = hist (map2 {op}) [-1, -1] {size(to)} (map (% i64.max 1 {size(to)}) {made}) "
             f"rows in map (\\r -> r[0] + r[1]) h)", to),
            (f"map (\\x -> reduce {op} (-1) (map (+ (x & 3)) [2, 3, 4, x])) {made}", dim)))
        return text, "i64", (to,)

    # ---- rows of a point's own

    def own_rows(self):
        """Tables of which each point keeps a row or two; rows that are filled before they are read."""
        name, type_, (first, second) = self.array(rank=2)
        a, b = size(first), size(second)
        other, of, _ = self.array(shape=(second,))
        y = f"{other}[t]" if of == type_ else f"{type_}.{of} {other}[t]"
        two = [("p[j]", type_), ("p[i64.max 0 (j - 1)]", type_), ("r[j]", type_), ("t", "i64")]
        best, most = self.pick(((f"{type_}.min", f"{type_}.highest"), (f"{type_}.max", f"{type_}.lowest")))
        edit = (f"(loop p = map {type_}.i64 (iota ({b} + 1)) for t < i64.min 4 {b} do "
                f"loop q = replicate ({b} + 1) ({type_}.i64 t) for j < {b} do q with [j + 1] = "
                f"{best} (q[j] + 1) ({best} (p[j + 1] + 1) (p[j] + {type_}.bool (r[j] != {y}))))")
        made = self.pick(("map (+ 1) q", "q", f"tabulate {b} (\\j -> {self.value(type_, two, 2)})"))
        kept = self.pick(("p", "map2 (\\x y -> x - y) p q", "copy r"))
        trade = (f"(loop (p, q) = (copy r, replicate {b} 0) for t < {self.pick(('2i64', '3i64', '5i64'))} do "
                 f"({made}, {kept}))")
        step = self.value(type_, [("q[j - 1]", type_), ("r[j]", type_), ("q[j]", type_)], 2)
        early = lambda n: (f"(let q = replicate {n} {self.pick((0, 7))} let q = if {n} > 0 then q with [0] = r[{n} - 1] else q "
                           f"in loop q for j in 1..<i64.max 1 {n} do q with [j] = {step})")
        twice = (f"(let q = map (\\x -> {self.value(type_, [('x', type_)], 1)}) r let s = reduce {best} r[0] q "
                 f"let q = map (\\x -> x - s) q in scan {best} {most} q)")
        new = self.value(type_, [("w[j]", type_), ("q[j]", type_), ("r[j]", type_)], 2)
        pairs = (f"(let (q, w) = loop (q, w) = (replicate {b} 0, copy r) for j < {b} do "
                 f"let w = w with [{self.place('j', b)}] = {new} in (q with [j] = w[{self.place('j', b)}], w) "
                 f"in map2 (\\x y -> x - y) q w)")
        number = self.pick(("last", f"reduce {best} {most}"))
        text, shape = self.pick((
            (f"map (\\r -> last {edit}) {name}", (first,)),
            (f"map (\\r -> {edit}[1:] :> [{b}]{type_}) {name}", (first, second)),
            (f"map (\\r -> {trade}.{self.pick((0, 1))}) {name}", (first, second)),
            (f"map (\\r -> let (p, q) = {trade} in map2 (\\x y -> x + y * 2) p q) {name}", (first, second)),
            (f"map (\\r -> {early(b)}) {name}", (first, second)),
            (f"transpose (map (\\r -> {early(a)}) (transpose {name}))", (first, second)),
            (f"map (\\r -> if {b} == 0 then copy r else {twice}) {name}", (first, second)),
            (f"map (\\r -> {pairs}) {name}", (first, second)),
            (f"map (\\r -> if {b} == 0 then 5 else {number} {early(b)}) {name}", (first,))))
        return text, type_, shape

    # ---- nests and rounds

    def nests(self):
        """Nests of three, whose sums are over what is put together, interleaved or turned."""
        name, type_, (first, second) = self.array(rank=2)
        a, b, c = size(first), size(second), self.pick((2, 3))
        op, neutral = self.reduction(type_)
        x, xs = (self.value(type_, [("x", type_), ("q", "i64")] + self.scalars, 2) for _ in range(2))
        row = f"(map (\\x -> {x}) r)"
        text, shape = self.pick((
            (f"map (\\r -> map (\\q -> reduce {op} {neutral} ({row} ++ map (\\x -> {xs}) r)) (iota {c})) {name} |> map (\\v -> v[1])", (first,)),
            (f"map (\\r -> let q = 1i64 in ({row} ++ r)[{b}:] :> [{b}]{type_}) {name}", (first, second)),
            (f"(let q = 2i64 in (map (\\r -> {row}) {name}[:{a} / 2] ++ map (\\r -> map (+ 1) r) {name}[{a} / 2:]) :> [{a}][{b}]{type_})",
             (first, second)),
            (f"(let q = 2i64 let z = map (\\r -> {row}) {name} ++ replicate {c} (replicate {b} 3) ++ {name} in "
             f"tabulate_2d {a} {b} (\\i j -> z[i, j] - z[i + {a} + {c}, {b} - 1 - j]))", (first, second)),
            (f"map (\\r -> let q = 3i64 in rotate {self.pick((1, '(-2)'))} {row}) {name}", (first, second)),
            (f"map (\\r -> map (\\(x, y) -> x - y) (zip r (map (\\p -> reduce {op} {neutral} p) (transpose [r, let q = 1i64 in {row}])))) {name}",
             (first, second)),
            (f"map (\\r -> reduce {op} {neutral} (flatten (tabulate {c} (\\q -> {row})))) {name}", (first,)),
            (f"map (\\r -> reduce {op} {neutral} (flatten (transpose [r, let q = 0i64 in {row}]))) {name}", (first,)),
            (f"(let q = 0i64 let z = map (\\r -> {row} ++ reverse r) {name} in map (\\p -> reduce {op} {neutral} p) (transpose z)[:{b}]) "
             f":> [{b}]{type_}", (second,)),
            (f"(let z = tabulate_3d {a} {b} {c} (\\i j q -> let x = {name}[i, j] in {x}) in map (map (reduce {op} {neutral})) z)",
             (first, second))))
        return f"({text})", type_, shape

    def added_products(self):
        """Products of two vectors, added up round by round."""
        name, type_, (first, second) = self.array(rank=2)
        a, b = size(first), size(second)
        if type_[0] == "f":
            name, type_ = f"(map (map i32.{type_}) {name})", "i32"
        rounds = self.pick(("3i64", f"i64.min 7 {a}", "(i64.i32 (k & 3))"))
        us = f"map (\\x -> x + {type_}.i64 t) {name}[:, if {b} == 0 then 0 else t % {b}]"
        vs = self.pick((f"{name}[if {a} == 0 then 0 else t % {a}]", f"map (* {type_}.i64 t) {name}[if {a} == 0 then 0 else t % {a}]"))
        start = self.pick((f"copy {name}", f"replicate {a} (replicate {b} 0)"))
        op = self.pick(("+", "+", "-", "^"))
        return (f"(if {a} == 0 || {b} == 0 then copy {name} else loop s = {start} for t < {rounds} do let us = {us} let vs = {vs} in "
                f"map2 (\\u r -> map2 (\\v x -> x {op} u * v) vs r) us s)"), type_, (first, second)

    STATEMENTS = (put_together, put_together, put_together, in_points, in_points, interleaved, interleaved, turned,
                  bins_put_together, bins_put_together, composed, composed, checked_numbers, checked_numbers)
    OF_MATRICES = (bins_of_arrays, bins_of_arrays, bins_of_arrays_by_rows, own_rows, own_rows, nests, nests,
                   added_products)
