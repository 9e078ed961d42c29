"""Loops that update arrays: by elements, slices, rows and scatters, under conditions, with what else
they carry; loops of each point's own, which end when something holds; stacks, searches, sieves."""
from idioms.words import Words, size


class Updates(Words):
    # ---- vectors

    def element_rounds(self):
        """An element in each round, if something holds, with a number or a second array carried."""
        name, type_, (dim,) = self.array()
        n = size(dim)
        atoms = [(f"a[{self.place('i', n)}]", type_), (f"{name}[i]", type_), ("s", type_), ("i", "i64")]
        new, then = self.value(type_, atoms, 2), self.value(type_, atoms, 1)
        at, other = self.place("i", n), self.place("i", n)
        condition = self.comparison(atoms)
        return self.pick((
            f"(loop (a, s) = (copy {name}, 1) for i < {n} do if {condition} then (a with [{at}] = {new}, s) "
            f"else (a, {then})).0",
            f"(loop (a, s) = (copy {name}, 1) for i < {n} do let s = {then} in (a with [{at}] = {new}, s)).0",
            f"(loop (a, s) = (copy {name}, 1) for i < {n} do if {condition} then "
            f"let x = a[{at}] let y = a[{other}] in (a with [{at}] = y with [{other}] = x, s + 1) "
            f"else if i % 2 == 0 then (a with [{other}] = {new}, s) else (a, {then})).0",
            f"(let s: {type_} = 2 in loop a = copy {name} for i < {n} do if {condition} then "
            f"loop a for j in i..<i64.min {n} (i + 3) do a with [j] = a[j] + a[i] else a with [{at}] = {new})",
            )), type_, (dim,)

    def record_rounds(self):
        """A record with an array, updated along its path."""
        name, type_, (dim,) = self.array()
        n = size(dim)
        atoms = [("st.a[i]", type_), ("st.sum", type_), (f"{name}[{self.place('i', n)}]", type_)]
        new, next_ = self.value(type_, atoms, 2), self.value(type_, atoms, 2)
        first = f"{{a = copy {name}, sum = {type_}.i64 3, on = true}}"
        changed = (f"let on = st.on != ({self.comparison(atoms)}) let st.sum = {next_} "
                   f"let st.a[{self.place('i', n)}] = {new} in st with on = on")
        body = self.pick((changed, f"if st.on then ({changed}) else st with on = st.sum != 3"))
        return f"(loop st = {first} for i < {n} do {body}).a", type_, (dim,)

    def slice_rounds(self):
        """A part in each round, made of parts, which may overlap."""
        name, type_, (dim,) = self.array()
        n, c, rounds = size(dim), self.pick((1, 2, 16)), self.pick(("2", "3", "(2 + i64.i32 (k & 1))"))
        pairs = [("x", type_), ("y", type_), ("t", "i64")]
        f = f"(\\x y -> {self.value(type_, pairs, 2)})"
        body = self.pick((
            f"a with [c:] = map2 {f} a[:{n} - c] a[c:]", f"a with [:{n} - c] = map2 {f} a[c:] a[:{n} - c]",
            f"a with [:{n} / 2] = map2 {f} a[{n} - {n} / 2:] a[:{n} / 2]",
            f"a with [t * {n} / 4:(t + 1) * {n} / 4] = map (\\x -> let y = x in "
            f"{self.value(type_, pairs, 2)}) a[t * {n} / 4:(t + 1) * {n} / 4]",
            f"let h = {n} / 2 in a with [:2 * h:2] = map2 {f} (a[:2 * h:2] :> [h]{type_}) (a[1:2 * h:2] :> [h]{type_})",
            f"let h = {n} / 2 in a with [1:2 * h:2] = map2 {f} (a[:2 * h:2] :> [h]{type_}) (a[1:2 * h:2] :> [h]{type_})",
            f"a with [c:] = scan (+) 0 a[c:]", f"a with [c:] = copy (reverse a[c:])",
            f"a with [c:] = replicate ({n} - c) {self.value(type_, [('t', 'i64')], 1)}",
            f"if t % 2 == 0 then a with [c:] = map2 {f} a[:{n} - c] a[c:] else map (\\x -> x + 1) a",
            f"a with [::-1] = map2 {f} a a"))
        return f"(let c = i64.min {c} {n} in loop a = copy {name} for t < {rounds} do {body})", type_, (dim,)

    def scatter_rounds(self):
        """A scatter or a histogram in each round."""
        name, type_, (dim,) = self.array()
        n, c = size(dim), self.pick((1, 3, 16))
        value = self.value(type_, [("x", type_), ("t", "i64")], 2)
        at = self.pick((f"{n} - 1 - i", f"(i + {c}) % {n}", f"i - {c}", f"2 * i + t % 2", f"if a[i] > 3 then i else -1"))
        op, neutral = self.pick((("(+)", "0"), (f"{type_}.max", neutral_of_least(type_))))
        bins = self.pick((f"(i64.{type_} a[i]) % {n}", "i % 5 - 1", f"i / 2 * t", f"(i + t * {c}) % {n}"))
        body = self.pick((
            f"scatter (copy a) (tabulate {n} (\\i -> {at})) (map (\\x -> {value}) a)",
            f"let at = tabulate {n} (\\i -> {at}) let vs = map (\\x -> {value}) a in scatter a at vs",
            f"let vs = map (\\x -> {value}) a in reduce_by_index a {op} {neutral} "
            f"(tabulate {n} (\\i -> {bins})) vs" if "a[" not in bins else
            f"let bs = tabulate {n} (\\i -> {bins}) let vs = map (\\x -> {value}) a "
            f"in reduce_by_index a {op} {neutral} bs vs",
            f"let h = hist {op} {neutral} {n} (tabulate {n} (\\i -> {bins})) a in map2 (\\x y -> x - y) a h"))
        return f"(loop a = copy {name} for t < {self.pick((2, 3, 5))} do {body})", type_, (dim,)

    def two_arrays(self):
        """Two that trade places, of which one changes."""
        name, type_, (dim,) = self.array()
        other = self.array(shape=(dim,))
        n = size(dim)
        atoms = [(f"a[{self.place('i', n)}]", type_), (f"b[{self.place('i', n)}]", type_), ("t", "i64")]
        whole = f"tabulate {n} (\\i -> {self.value(type_, atoms, 2)})"
        some = f"b with [t:] = map2 (\\x y -> x - y) a[t:] b[t:]"
        some = f"(if t <= {n} then {some} else b)"
        one = f"(if t < {n} then b with [t] = a[t] + b[{n} - 1 - t] else b)"
        swap = self.pick((f"({self.pick((some, one))}, a)", f"(b, {whole})", f"(a, {whole})", f"({whole}, a)",
                          f"if t % 2 == 0 then (b, a) else ({whole}, b)"))
        start = f"(copy {name}, map (\\x -> {type_}.{other[1]} x) {other[0]})"
        return (f"(loop (a, b) = {start} for t < {self.pick((2, 3, 7))} do {swap}).{self.pick((0, 1))}",
                type_, (dim,))

    def own_array(self):
        """An array of each point's own in a loop that ends when something holds."""
        dim, type_ = self.dim(), self.type()
        c = self.pick((2, 4, 7, 16))
        start = self.value(type_, self.atoms("i", dim), 2)
        atoms = [("x", type_), (f"w[t % {c}]", type_), (f"w[(t + 1) % {c}]", type_), ("t", "i64")]
        new = self.value(type_, atoms, 2)
        end = self.pick((f"x > {self.pick((3, 50))}", f"t < i % 9", f"w[{c} - 1] == 0 || x < 9", "x % 4 != 1"
                         if type_[0] != "f" else "x < 9"))
        change = self.pick((f"w with [t % {c}] = {new}", f"if x > 4 then w with [t * 3 % {c}] = {new} else w",
                            f"w with [{c // 2}:] = map (\\y -> y + x) w[:{c} - {c // 2}]",
                            f"scatter w (map (\\j -> (j + t) % {c + 1}) (iota 2)) [x, {new}]"))
        result = self.pick((f"w[i % {c}]", "x", f"{type_}.max x (reduce {type_}.max {type_}.lowest w)", "x + w[0]"))
        return (f"tabulate {size(dim)} (\\i -> let w = tabulate {c} (\\j -> {type_}.i64 (j * i)) "
                f"let (w, x, t) = loop (w, x, t) = (w, {start}, 0) while t < 20 && ({end}) do "
                f"(let x = x let y = {new} in ({change}, y, t + 1)) in {result})"), type_, (dim,)

    def stack(self):
        """A walk through a tree or an interval, with a stack."""
        name, type_, (dim,) = self.array()
        n = size(dim)
        limit = self.random.randint(1, 9)
        visit = self.value(type_, [("s", type_), (f"{name}[i]", type_), ("lo", "i64"), ("hi", "i64")], 2)
        return (f"tabulate {n} (\\i -> let st = replicate 12 (0i64, 0i64) with [0] = (0, i % {limit * 3} + 1) in "
                f"(loop (st, top, s) = (st, 1, 0) while top > 0 do let (lo, hi) = copy st[top - 1] in "
                f"if hi - lo < 2 then (st, top - 1, {visit}) else let mid = (lo + hi) / 2 "
                f"let st[top - 1] = (lo, mid) let st[top] = (mid, hi) in (st, top + 1, s + {type_}.i64 hi)).2)"), \
            type_, (dim,)

    def searched(self):
        """The place of each value in a sorted array, by halves."""
        name, type_, (dim,) = self.array()
        value, of, (to,) = self.array()
        n = size(dim)
        less = self.pick((f"sorted[mid] < x", f"sorted[mid] <= x"))
        return (f"(let sorted = scan {type_}.max {type_}.lowest {name} "
                f"in map (\\v -> let x = {type_}.{of} v in (loop (lo, hi) = (0, {n}) while lo < hi do "
                f"let mid = (lo + hi) / 2 in if {less} then (mid + 1, hi) else (lo, mid)).0) {value})"
                ), "i64", (to,)

    def sieve(self):
        dim, type_ = self.dim(), self.pick(("u8", "i32", "i16"))
        n, p = size(dim), self.pick(("i64.min 2 (n)", "2"))
        step = self.pick((f"if a[p] == 0 then a else loop a for j in p * 2..p * 3..<i64.max (p * 2) {n} do a with [j] = 0",
                          f"if a[p] == 0 then a else (loop (a, j) = (a, p * p) while j < {n} do "
                          f"(a with [j] = {self.pick(('0', 'a[j] - 1'))}, j + p)).0",
                          f"let c = ({n} - p) / p in if a[p] == 0 then a else "
                          f"loop a for q < c do a with [q * p + p] = a[q * p + p] / 2",
                          f"let q = i64.min {n} (2 * p) in a with [q::p] = replicate (({n} - q + p - 1) / p) 0"))
        del p
        return f"(loop a = replicate {n} 1{type_} for p in 2..<i64.max 2 (i64.min 20 {n}) do {step})", type_, (dim,)

    def jumps(self):
        """Pointers that jump."""
        dim, n = self.dim(), None
        n = size(dim)
        first = self.value("i64", self.atoms("i", dim), 1)
        return self.pick((
            f"(loop p = tabulate {n} (\\i -> ({first}) % {n}) for _t < 4 do map (\\i -> p[i]) p)",
            f"(loop p = tabulate {n} (\\i -> i64.max 0 (i - 1)) for _t < {self.pick((2, 5))} do tabulate {n} (\\i -> p[p[i]]))",
            f"(loop (p, c) = (tabulate {n} (\\i -> ({first}) % {n}), replicate {n} 1i64) for _t < 3 do "
            f"(map (\\i -> p[i]) p, tabulate {n} (\\i -> c[i] + c[p[i]]))).1")), "i64", (dim,)

    def until(self):
        """Rounds until nothing changes, or something holds."""
        name, type_, (dim,) = self.array()
        n = size(dim)
        step = self.pick((f"tabulate {n} (\\i -> {type_}.max a[i] a[i64.max 0 (i - 1)])",
                          f"map (\\x -> if x > 5 then x - x / 3 - 1 else x) a" if type_[0] != "f" else
                          "map (\\x -> if x > 5 then 5 else x) a",
                          f"scan {type_}.max {neutral_of_least(type_)} a"))
        return self.pick((
            f"(loop (a, go, t) = (copy {name}, true, 0i32) while go && t < 12 do let b = {step} in "
            f"(b, or (map2 (!=) a b), t + 1)).0",
            f"(loop (a, t) = (copy {name}, 0i32) while t < 9 && any (> 7) a do "
            f"(if t % 2 == 0 then {step} else map (\\x -> {type_}.min x 7) a, t + 1)).0")), type_, (dim,)

    def knapsack(self):
        """Tables that go down, or from the row before."""
        name, type_, (dim,) = self.array()
        other, of, (to,) = self.array()
        n, m = size(dim), size(to)
        w = f"(1 + (i64.{of} {other}[j]) % 5)"
        return self.pick((
            f"(loop a = copy {name} for j < i64.min 6 {m} do let w = {w} in loop a for q < {n} do "
            f"let i = {n} - 1 - q in if i >= w then a with [i] = {type_}.max a[i] (a[i - w] + 3) else a)",
            f"(loop a = copy {name} for j < i64.min 6 {m} do let w = {w} in "
            f"tabulate {n} (\\i -> if i >= w then {type_}.max a[i] (a[i - w] + {type_}.i64 w) else a[i]))",
            f"(loop a = copy {name} for j < i64.min 6 {m} do let w = {w} in "
            f"loop a for i in w..<i64.max w {n} do a with [i] = a[i] + a[i - w])")), type_, (dim,)

    # ---- matrices

    def row_rounds(self):
        """A row, a column or a block in each round."""
        name, type_, (first, second) = self.array(rank=2)
        a, b = size(first), size(second)
        f = f"(\\x y -> {self.value(type_, [('x', type_), ('y', type_), ('i', 'i64')], 2)})"
        both = f"i64.min {a} {b}"
        body, to = self.pick((
            (f"a with [i] = map2 {f} a[i] a[{self.place('i', a)}]", a),
            (f"a with [i, :] = scan (+) 0 a[{self.place('i', a)}, :]", a),
            (f"a with [:, i] = map2 {f} a[:, i] a[:, {self.place('i', b)}]", b),
            (f"a with [i + 1:, i + 1:] = map2 (\\r y -> map (\\x -> {self.value(type_, [('x', type_), ('y', type_)], 1)}) r) "
             f"a[i + 1:, i + 1:] a[i + 1:, i]", both),
            (f"a with [i:, i:] = tabulate_2d ({a} - i) ({b} - i) (\\p q -> a[p + i, q + i] - a[i, q + i] * a[p + i, i])", both),
            (f"let r = copy a[i] let q = copy a[{a} - 1 - i] in a with [i] = q with [{a} - 1 - i] = r", a),
            (f"let r = map2 {f} a[i] a[{a} - 1 - i] in if i % 2 == 0 then a with [i] = r else a", a),
            (f"if {b} > 2 then a with [i, 1:{b} - 1] = map2 {f} a[i, :{b} - 2] a[i, 2:] else a", a),
            (f"loop a for j < i64.min i {b} do a with [i, j] = a[i, j] - a[{self.place('i', a)}, j]", a),
            (f"let x = a[i, i] in loop a for j in i + 1..<i64.max (i + 1) {a} do a with [j, i] = a[j, i] - x", both)))
        return f"(loop a = copy {name} for i < {to} do {body})", type_, (first, second)

    def rows_alone(self):
        """Each row in a loop of its own."""
        name, type_, (first, second) = self.array(rank=2)
        b = size(second)
        atoms = [(f"r[{self.place('j', b)}]", type_), ("r[j]", type_), ("s", type_), ("j", "i64")]
        new, condition = self.value(type_, atoms, 2), self.comparison(atoms)
        return self.pick((
            f"map (\\r -> (loop (r, s) = (copy r, 0) for j < {b} do let t = s + r[j] in (r with [{self.place('j', b)}] = {new}, t)).0) {name}",
            f"map (\\r -> loop r = copy r for t < {b} do loop r for j < {b} - 1 do if r[j] > r[j + 1] then "
            f"let x = r[j] let y = r[j + 1] in r with [j] = y with [j + 1] = x else r) {name}",
            f"map (\\r -> (loop (r, j, s) = (copy r, 0, 1) while j < {b} && s < 90 do if {condition} then "
            f"(r with [j] = {new}, j + 1, s + 1) else (r, j + 2, s + 2)).0) {name}",
            f"map (\\r -> loop r = copy r for t < 2 do scatter r (map (\\j -> {b} - 1 - j) (iota ({b} / 2))) "
            f"(map (\\j -> r[j] + {type_}.i64 t) (iota ({b} / 2)))) {name}".replace("scatter r (", "scatter (copy r) ("),
            f"map (\\r -> let h = {b} / 2 in loop r = copy r for t < 3 do r with [h:] = map (+ 1) r[:{b} - h]) {name}",
            f"map (\\r -> loop r = copy r for t < 3 do r with [i64.min t {b}:] = scan (+) 0 r[i64.min t {b}:]) {name}",
            )), type_, (first, second)

    def distances(self):
        """All pairs, with one in between in each round; tables of two strings."""
        name, type_, (first, second) = self.array(rank=2)
        a, b = size(first), size(second)
        x, y = self.array(shape=(first,)), self.array(shape=(second,))
        best = self.pick(("min", "max"))
        return self.pick((
            f"(loop a = {name} for k < i64.min {a} {b} do tabulate_2d {a} {b} (\\i j -> "
            f"{type_}.{best} a[i, j] (a[i, k] + a[k, j])))",
            f"(loop a = copy {name} for k < i64.min {a} {b} do loop a for i < {a} do loop a for j < {b} do "
            f"a with [i, j] = {type_}.{best} a[i, j] (a[i, k] + a[k, j]))",
            f"(loop t = copy {name} for i in 1..<i64.max 1 {a} do loop t for j in 1..<i64.max 1 {b} do "
            f"let same = i64.{x[1]} {x[0]}[i] == i64.{y[1]} {y[0]}[j] in t with [i, j] = if same then t[i - 1, j - 1] + 1 "
            f"else {type_}.{best} t[i - 1, j] t[i, j - 1])",
            f"(loop t = copy {name} for d in 2..<i64.max 2 ({a} + {b} - 1) do let lo = i64.max 1 (d - {b} + 1) "
            f"let c = i64.max 0 (i64.min d {a} - lo) let vs = tabulate c (\\q -> let i = lo + q let j = d - i in "
            f"{type_}.{best} t[i - 1, j] t[i, j - 1] + t[i - 1, j - 1]) in "
            f"scatter_2d t (tabulate c (\\q -> (lo + q, d - lo - q))) vs)")), type_, (first, second)

    STATEMENTS = (element_rounds, element_rounds, record_rounds, record_rounds, slice_rounds, slice_rounds,
                  slice_rounds, scatter_rounds, scatter_rounds, two_arrays, two_arrays, own_array, own_array,
                  own_array, stack, searched, sieve, jumps, until, until, knapsack)
    OF_MATRICES = (row_rounds, row_rounds, row_rounds, rows_alone, rows_alone, distances)


def neutral_of_least(type_):
    return f"{type_}.lowest"
