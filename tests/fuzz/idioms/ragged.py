"""Nests whose inner widths vary: triangles, rows by offsets, sums over what each point makes, in two
and three levels, with scans, filters, histograms and loops within; expansion by hand."""
from idioms.words import Words, size


class Ragged(Words):
    def width(self, atoms, most=9):
        """Of a point's own array: from an index or data."""
        return self.pick((f"({self.value('i64', atoms, 1)} & {self.pick((3, 7))})", f"({atoms[0][0]} % {self.pick((2, 3, most))})",
                          f"(i64.max 0 ({self.pick((2, 5))} - {atoms[0][0]}))", f"(if {self.comparison(atoms)} then 4 else 0)"))

    def integer(self):
        return self.pick([t for t in self.types if t[0] != "f"])

    def inner(self, type_, atoms, depth):
        """A number from an array of a width of its own, made at one or two levels."""
        j = self.fresh("jj")
        w, own = self.width(atoms), [(j, "i64")] + atoms
        body = self.inner(type_, own, depth - 1) if depth > 0 and self.chance(0.6) else self.value(type_, own, 2)
        made = self.pick((f"(tabulate {w} (\\{j} -> {body}))", f"(map (\\{j} -> {body}) (iota {w}))"))
        op, neutral = self.reduction(type_)
        condition = self.comparison([("v", type_)] + atoms)
        return self.pick((
            f"(reduce {op} {neutral} {made})", f"(reduce {op} {neutral} (scan (+) 0 {made}))",
            f"(reduce (+) 0 (filter (\\v -> {condition}) {made}))", f"({type_}.i64 (length (filter (\\v -> {condition}) {made})))",
            f"(let c = {made} in if null c then 5 else last c - head c)",
            f"(loop s = 1 for x in {made} do s * 3 + x)",
            f"(let c = {made} in reduce {op} {neutral} (map2 (\\x y -> x - y) c (reverse c)))",
            f"(let c = {made} in reduce (+) 0 (hist (+) 0 5 (map (\\x -> i64.{type_} x % 6) c) c))",
            f"(let c = copy {made} in reduce (+) 0 (loop c for q in 1..<i64.max 1 (length c) do c with [q] = c[q] - c[q - 1]))",
            f"(let c = {made} ++ [7] in c[length c / 2])",
            f"(let (c, d) = partition (\\v -> {condition}) {made} in reduce (+) 0 d - reduce {op} {neutral} c)",
            f"(let c = {made} in reduce (+) 0 (scatter (copy c) (map (\\q -> q * 2) (indices c)) (map (+ 1) c)))"))

    def nested(self):
        dim, type_, i = self.dim(), self.integer(), self.fresh("at")
        return f"tabulate {size(dim)} (\\{i} -> {self.inner(type_, self.atoms(i, dim), self.pick((0, 1, 1, 2)))})", type_, (dim,)

    def triangle(self):
        """Sums over pairs i, j with j below, or above, i."""
        name, type_, (dim,) = self.array()
        other = self.array(shape=(dim,))
        n, op = size(dim), self.reduction(type_)
        type_of = f"{type_}.{other[1]}"
        body = self.value(type_, [("x", type_), ("y", type_)], 2)
        lo, hi = self.pick((("i64.max 0 (i - 5)", "i"), ("i", f"i64.min {n} (i + 4)"), (f"i - i % 3", "i + 1"),
                            ("i / 2", "i / 2 + i % 4")))
        return self.pick((
            f"tabulate {n} (\\i -> let x = {name}[i] in reduce {op[0]} {op[1]} (map (\\j -> let y = {type_of} {other[0]}[j] in {body}) "
            f"({lo}..<{hi})))",
            f"tabulate {n} (\\i -> let x = {name}[i] in loop s = 0 for j in {lo}..<{hi} do let y = {type_of} {other[0]}[j] in s + {body})",
            f"tabulate {n} (\\i -> let lo = {lo} let hi = {hi} in reduce {op[0]} {op[1]} (map2 (\\x z -> let y = {type_of} z in {body}) "
            f"{name}[lo:hi] {other[0]}[lo:hi]))",
            f"tabulate {n} (\\i -> let c = scan {op[0]} {op[1]} {name}[{lo}:{hi}] in if null c then 3 else last c)")), type_, (dim,)

    def by_offsets(self):
        """Rows whose lengths are data, one behind the other (CSR)."""
        name, type_, (dim,) = self.array()
        values, of, (other,) = self.array()
        n, m = size(dim), size(other)
        lengths = f"tabulate {n} (\\i -> {self.width(self.atoms('i', dim), 5)})"
        op, neutral = self.reduction(of)
        term = self.pick(("x", "x * 2", f"(if {self.comparison([('x', of)])} then x else 1)"))
        at = self.pick(("(lo + j) % m0", "(lo * j) % m0", "(i + j * 3) % m0"))
        row = f"tabulate ls[i] (\\j -> let x = {values}[{at}] in {term})"
        return self.pick((
            f"(let m0 = {m} let ls = {lengths} let os = exscan (+) 0 ls in tabulate {n} (\\i -> let lo = os[i] in "
            f"if m0 == 0 then 1 else reduce {op} {neutral} ({row})))",
            f"(let m0 = i64.max 1 {m} let ls = {lengths} let os = exscan (+) 0 ls in tabulate {n} (\\i -> loop s = 0 for j < ls[i] do "
            f"let lo = os[i] let p = {at} in if p < {m} then s * 3 + {values}[p] else s))")), of, (dim,)

    def expanded(self):
        """Expansion by hand or by flatmap: what each point makes, one behind the other, brought back."""
        dim, type_ = self.dim(), self.integer()
        n = size(dim)
        atoms = self.atoms("i", dim)
        w, body = self.width(atoms, 4), self.value(type_, [("j", "i64")] + atoms, 2)
        back = self.pick((f"tabulate {n} (\\i -> if i < length vs then vs[i] else 0)",
                          f"(let t = reduce (^) 0 vs in tabulate {n} (\\i -> t + {type_}.i64 (i + length vs)))",
                          f"reduce_by_index (replicate {n} 0) (+) 0 at vs"))
        by_hand = (f"let ls = tabulate {n} (\\i -> {w}) let os = scan (+) 0 ls let c = if {n} == 0 then 0 else os[{n} - 1] "
                   f"let heads = reduce_by_index (replicate c 0i64) i64.max 0 (map2 (\\o l -> if l > 0 then o - l else -1) os ls) (iota {n}) "
                   f"let at = scan i64.max 0 heads let vs = tabulate c (\\p -> let i = at[p] let j = p - os[i] + ls[i] in {body})")
        flat = (f"let (_, _, _, vs0, _) = flatmap (\\i -> (tabulate {w} (\\j -> (i, {body})), i)) (iota {n}) let (at, vs) = unzip vs0")
        return f"({self.pick((by_hand, by_hand, flat))} in {back})", type_, (dim,)

    def ragged_rows(self):
        """For each row of a matrix."""
        name, type_, (first, second) = self.array(rank=2)
        made, b, i = self.integer(), size(second), self.fresh("at")
        atoms = [(i, "i64"), (f"({made}.{type_} (if {b} == 0 then 1 else r[{i} % {b}]))", made)] + self.scalars
        exp = self.inner(made, atoms, self.pick((0, 1)))
        cut = f"(i64.min {b} {self.width(atoms)})"
        op, neutral = self.reduction(type_)
        return self.pick((
            (f"map2 (\\r {i} -> {exp}) {name} (iota {size(first)})", made),
            (f"map2 (\\r {i} -> reduce {op} {neutral} r[:{cut}]) {name} (iota {size(first)})", type_),
            (f"map2 (\\r {i} -> let c = scan {op} {neutral} r[{b} - {cut}:] in if null c then 2 else last c + c[0]) {name} "
             f"(iota {size(first)})", type_))) + ((first,),)

    def ragged_cells(self):
        """For each element of a matrix, or for each row and each element of its own array."""
        name, type_, (first, second) = self.array(rank=2)
        made, a, b, j = self.integer(), size(first), size(second), self.fresh("jj")
        atoms = [(j, "i64"), (f"({made}.{type_} x)", made), ("i", "i64")]
        exp = self.inner(made, atoms, self.pick((0, 0, 1)))
        own = self.value(made, [("y", made), ("p", "i64"), (f"({made}.{type_} r[{j}])", made)], 2)
        return self.pick((
            f"tabulate_2d {a} {b} (\\i {j} -> let x = {name}[i, {j}] in {exp})",
            f"map2 (\\r i -> map2 (\\x {j} -> {exp}) r (iota {b})) {name} (iota {a})",
            f"map2 (\\r i -> let c = tabulate (i % 5) (\\p -> {made}.i64 (p * i)) in tabulate {b} (\\{j} -> "
            f"reduce (+) 0 (map2 (\\y p -> {own}) c (indices c)))) {name} (iota {a})",
            f"map (\\r -> let c = filter (> 2) (map {made}.{type_} r) in tabulate {b} (\\{j} -> "
            f"reduce (+) 0 (map2 (\\y p -> {own}) c (indices c)))) {name}")), made, (first, second)

    STATEMENTS = (nested, nested, nested, triangle, by_offsets, expanded)
    OF_MATRICES = (ragged_rows, ragged_cells, ragged_cells)
