"""Pictures on flat arrays, windows, borders, segmented scans, histograms, compactions, sorts of a
few numbers, tables that change in place."""
from idioms.words import Words, size


class Everyday(Words):
    # ---- vectors

    def dim(self):
        """That of a vector."""
        return self.pick([a[2][0] for a in self.arrays if len(a[2]) == 1])

    def tabulated(self):
        dim, type_, i = self.dim(), self.type(), self.fresh("at")
        body = self.value(type_, self.atoms(i, dim), 3)
        form = self.pick((f"tabulate {size(dim)} (\\{i} -> {body})",
                          f"map (\\{i} -> {body}) (iota {size(dim)})"))
        return form, type_, (dim,)

    def mapped(self):
        dim, type_ = self.dim(), self.type()
        a, b = self.array(shape=(dim,)), self.array(shape=(dim,))
        body = self.value(type_, [("x", a[1]), ("y", b[1])] + self.scalars, 3)
        return f"map2 (\\x y -> {body}) {a[0]} {b[0]}", type_, (dim,)

    def picture(self):
        """Of n rows of m points, in one dimension."""
        type_ = self.type()
        array = self.array(shape=("s",))
        atoms = [("i", "i64"), ("j", "i64"), (f"{array[0]}[p]", array[1])] + self.scalars
        for _ in range(self.random.randint(1, 4)):
            di, dj = self.random.randint(-1, 1), self.random.randint(-2, 2)
            at = f"(i + ({di})) * m + j + ({dj})"
            inside = f"i + ({di}) >= 0 && i + ({di}) < n && j + ({dj}) >= 0 && j + ({dj}) < m"
            wrapped = f"((i + ({di})) % n) * m + (j + ({dj})) % m"
            near = (f"i64.max 0 (i64.min (n - 1) (i + ({di}))) * m + "
                    f"i64.max 0 (i64.min (m - 1) (j + ({dj})))")
            atoms.append((self.pick((f"(if {inside} then {array[0]}[{at}] else 0)",
                                     f"{array[0]}[{wrapped}]", f"{array[0]}[{near}]")), array[1]))
        body = f"let i = p / m let j = p % m in {self.value(type_, atoms, 3)}"
        return f"tabulate (n * m) (\\p -> {body})", type_, ("s",)

    def scanned(self):
        name, type_, shape = self.array()
        op, neutral = self.reduction(type_)
        form = self.pick((f"scan {op} {neutral} {name}",
                          f"reverse (scan {op} {neutral} (reverse {name}))",
                          f"map2 (\\a b -> a - b) (scan {op} {neutral} {name}) {name}",
                          f"rotate (-1) (scan {op} {neutral} {name})"))
        return form, type_, shape

    def segments(self):
        name, type_, (dim,) = self.array()
        op, neutral = self.reduction(type_)
        flags = f"(\\i -> {self.comparison(self.atoms('i', dim))})"
        return (f"(let fs = tabulate {size(dim)} {flags} "
                f"in (unzip (scan (\\(f, a) (g, b) -> (f || g, if g then b else {op} a b)) "
                f"(false, {neutral}) (zip fs {name}))).1)"), type_, (dim,)

    def kept(self):
        """Some elements, which then fill a vector."""
        name, type_, (dim,) = self.array()
        to = self.dim()
        condition = self.comparison([("x", type_)] + self.scalars)
        chosen = self.pick((
            f"filter (\\x -> {condition}) {name}",
            f"(partition (\\x -> {condition}) {name}).{self.pick((0, 1))}",
            f"(map (.1) (filter (\\(i, x) -> i % 3 != 0 && {condition}) "
            f"(zip (indices {name}) {name})))",
            f"map (\\i -> {name}[i]) (filter (\\i -> let x = {name}[i] in {condition}) "
            f"(indices {name}))"))
        filled = f"if i < length c then c[i] else {type_}.i64 (length c)"
        return f"(let c = {chosen} in tabulate {size(to)} (\\i -> {filled}))", type_, (to,)

    def compacted(self):
        """A filter as it is written by hand: places by a scan, then a scatter."""
        name, type_, (dim,) = self.array()
        condition = self.comparison([("x", type_)] + self.scalars)
        return (f"(let fs = map (\\x -> i64.bool {condition}) {name} "
                f"let at = map2 (\\f o -> if f == 1 then o - 1 else -1) fs (scan (+) 0 fs) "
                f"in scatter (map (\\x -> x) {name}) at {name})"), type_, (dim,)

    def histogram(self):
        name, type_, (dim,) = self.array()
        to = self.dim()
        op, neutral = self.reduction(type_)
        if "if" in op:
            op, neutral = "(+)", "0"
        bins = f"(\\i -> {self.pick(('', '-1 + ', ''))}{self.value('i64', self.atoms('i', dim), 1)}"
        bins += self.pick((f" % (1 + {size(to)}))", f" % i64.max 1 {size(to)})", " % 8)",
                           " % 300)"))
        return (f"reduce_by_index (replicate {size(to)} {neutral}) {op} {neutral} "
                f"(tabulate {size(dim)} {bins}) {name}"), type_, (to,)

    def scattered(self):
        name, type_, (dim,) = self.array()
        n, by = size(dim), self.pick((1, 3, 16))
        at = self.pick((f"{n} - 1 - i", f"(i + {by}) % {n}", f"i - {by}", f"i + {by}",
                        f"if i % {by + 1} == 0 then i else -1"))
        return (f"scatter (map (\\x -> x + 1) {name}) (tabulate {n} (\\i -> {at})) "
                f"(map (\\x -> x) {name})"), type_, (dim,)

    def rearranged(self):
        name, type_, (dim,) = self.array()
        n, c = size(dim), self.pick((1, 3, 17))
        return self.pick((
            f"reverse {name}", f"rotate {c} {name}", f"rotate (-{c}) {name}",
            f"(let h = {n} / 2 in {name}[h:] ++ {name}[:h]) :> [{n}]{type_}",
            f"(let c = i64.min {c} {n} in drop c {name} ++ take c {name}) :> [{n}]{type_}",
            f"(let e = {name}[::2] let o = {name}[1::2] in e ++ o) :> [{n}]{type_}"
            if dim != "s" else f"reverse {name}",
            f"(copy {name} with [0:{n} / 2] = {name}[{n} - {n} / 2:])")), type_, (dim,)

    def rows_to_numbers(self):
        name, type_, (first, second) = self.array(rank=2)
        op, neutral = self.reduction(type_)
        return self.pick((
            f"map (\\r -> reduce {op} {neutral} r) {name}",
            f"map (\\r -> reduce (+) 0 (map2 (*) r r)) {name}",
            f"map (\\r -> loop s = 0 for x in r do s * 3 + x) {name}",
            f"map (\\r -> last ([0] ++ scan {op} {neutral} r)) {name}",
            f"map (\\r -> {type_}.i64 (reduce (\\(a, i) (b, j) -> if a < b || a == b && i < j then "
            f"(a, i) else (b, j)) ({neutral_of_least(type_)}, -1) (zip r (indices r))).1) {name}",
            f"tabulate {size(first)} (\\i -> loop s = 0 for j < {size(second)} do "
            f"if {name}[i, j] > s then {name}[i, j] - s else s + 1)",
            f"map (\\r -> reduce {op} {neutral} (filter (\\x -> x > 2) r)) {name}",
            )), type_, (first,)

    def columns_to_numbers(self):
        name, type_, (first, second) = self.array(rank=2)
        op, neutral = self.reduction(type_)
        return self.pick((
            f"map (\\c -> reduce {op} {neutral} c) (transpose {name})",
            f"reduce (map2 (+)) (replicate {size(second)} 0) {name}",
            f"loop c = replicate {size(second)} 0 for r in {name} do map2 (\\a x -> a * 3 + x) c r",
            f"tabulate {size(second)} (\\j -> loop s = 0 for i < {size(first)} do "
            f"s - {name}[i, j])",
            )), type_, (second,)

    def table(self):
        """Changes in place, element by element."""
        name, type_, (dim,) = self.array()
        n = size(dim)
        body = self.value(type_, [("a[i - 1]", type_), (f"{name}[i]", type_), ("i", "i64")], 2)
        return (f"(loop a = copy {name} for i in 1..<i64.max 1 {n} do a with [i] = {body})",
                type_, (dim,))

    def rounds(self):
        """A few rounds of a window, with borders."""
        name, type_, (dim,) = self.array()
        n = size(dim)
        atoms = [(f"a[{self.place('i', n)}]", type_) for _ in range(3)] + [("t", "i64")]
        body = self.value(type_, atoms, 2)
        return (f"(loop a = {name} for t < {self.pick((2, 3, '(2 + i64.i32 (k & 1))'))} do "
                f"tabulate {n} (\\i -> {body}))"), type_, (dim,)

    def tries(self):
        """A loop for each point, of which each has its own number of rounds."""
        dim = self.dim()
        start = self.value("i32", self.atoms("i", dim), 2)
        step = self.pick(("if x % 2 == 0 then x / 2 else x - 3", "x - 1 - x / 5", "x / 2"))
        until = self.pick((f"x > {self.pick((1, 10, 50))}", "x > 1 && s < 40"))
        rounds = f"loop (x, s) = (({start}) & 1023, 0i32) while {until} do ({step}, s + x)"
        return f"tabulate {size(dim)} (\\i -> ({rounds}).1)", "i32", (dim,)

    def few(self):
        """A few neighbours in an array of each point's own, sorted or changed."""
        name, type_, (dim,) = self.array()
        n, c = size(dim), self.pick((3, 4, 5, 9))
        window = f"tabulate {c} (\\j -> {name}[(i + j) % {n}])"
        insertion = (f"loop w for a in 1..<{c} do "
                     "(loop (w, b) = (w, a) while b > 0 && w[b - 1] > w[b] do "
                     "let x = w[b] let y = w[b - 1] in (w with [b] = y with [b - 1] = x, b - 1)).0")
        exchanges = (f"loop w for a < {c} do loop w for b < {c} - 1 do if w[b] > w[b + 1] then "
                     "let x = w[b] let y = w[b + 1] in w with [b] = y with [b + 1] = x else w")
        counted = (f"loop w for a < {c} do w with [(i + a) % {c}] = w[a] + w[{c} - 1 - a]")
        change = self.pick((insertion, exchanges, counted))
        return (f"tabulate {n} (\\i -> let w = {window} let w = {change} "
                f"in w[{self.pick((0, c // 2, c - 1))}])"), type_, (dim,)

    def windows(self):
        name, type_, (dim,) = self.array()
        n, c = size(dim), self.pick((2, 5, 8))
        op, neutral = self.reduction(type_)
        return self.pick((
            f"tabulate {n} (\\i -> reduce {op} {neutral} {name}[i64.max 0 (i - {c}):i + 1])",
            f"tabulate {n} (\\i -> loop s = 0 for j < {c} do "
            f"if i + j < {n} then s * 2 + {name}[i + j] else s)",
            f"map (\\i -> reduce {op} {neutral} (map (\\j -> {name}[(i + j) % {n}]) (iota {c}))) "
            f"(iota {n})")), type_, (dim,)

    def records(self):
        dim = self.dim()
        a, b = self.array(shape=(dim,)), self.array(shape=(dim,))
        type_ = self.type()
        made = self.pick((
            f"map (\\r -> {self.value(type_, [('r.a', a[1]), ('r.b', b[1])], 2)}) "
            f"(map2 (\\a b -> {{a, b}}) {a[0]} {b[0]})",
            f"map (\\v -> match v case #one x -> {self.value(type_, [('x', a[1])], 1)} "
            f"case #two y -> {self.value(type_, [('y', b[1])], 1)} case #none -> 7) "
            f"(map2 (\\a b -> if {self.comparison([('a', a[1])])} then #one a else if "
            f"{self.comparison([('b', b[1])])} then #two b else "
            f"(#none : #one {a[1]} | #two {b[1]} | #none)) {a[0]} {b[0]})"))
        return made, type_, (dim,)

    def flat(self):
        name, type_, (first, second) = self.array(rank=2)
        return f"(flatten {name} :> [{size(first)} * {size(second)}]{type_})", type_, \
            ("s",) if (first, second) == ("n", "m") else None

    # ---- matrices

    def space(self):
        return self.pick((("n", "m"), ("n", "m"), ("m", "n"), ("m", "m")))

    def table_2d(self):
        first, second = self.space()
        a, b = self.array(shape=(first,)), self.array(shape=(second,))
        type_ = self.type()
        atoms = [(self.load(a, "i"), a[1]), (self.load(b, "j"), b[1]), ("i", "i64"), ("j", "i64")]
        found = [c for c in self.arrays if c[2] == (first, second)]
        for c in found[-2:]:
            i, j = self.place("i", size(first)), self.place("j", size(second))
            atoms.append((f"{c[0]}[{i}, {j}]", c[1]))
        return (f"tabulate_2d {size(first)} {size(second)} (\\i j -> "
                f"{self.value(type_, atoms, 3)})"), type_, (first, second)

    def unflattened(self):
        name, type_, _ = self.array(shape=("s",))
        return f"unflatten ({name} :> [n * m]{type_})", type_, ("n", "m")

    def of_rows(self):
        name, type_, (first, second) = self.array(rank=2)
        op, neutral = self.reduction(type_)
        row = self.array(shape=(second,))
        a, b = size(first), size(second)
        pairs = [("x", type_), ("y", row[1])]
        return self.pick((
            f"map (scan {op} {neutral}) {name}", f"map reverse {name}", f"reverse {name}",
            f"reverse (map reverse {name})", f"map (rotate 1) {name}", f"rotate 1 {name}",
            f"transpose (map (scan {op} {neutral}) (transpose {name}))",
            f"map (map (\\x -> {self.value(type_, [('x', type_)] + self.scalars, 2)})) {name}",
            f"map (\\r -> map2 (\\x y -> {self.value(type_, pairs, 2)}) r {row[0]}) {name}",
            f"map (\\r -> let s = reduce {op} {neutral} r in map (\\x -> x - s) r) {name}",
            f"(copy {name} with [{a} / 2:] = {name}[:{a} - {a} / 2])",
            f"map (\\i -> {name}[{self.place('i', size(first))}]) (iota {size(first)})",
            f"map (\\r -> loop a = copy r for j in 1..<i64.max 1 {b} do "
            f"a with [j] = a[j - 1] + r[j]) {name}",
            f"scan (map2 (+)) (replicate {size(second)} 0) {name}",
            f"map (\\r -> reduce_by_index (replicate {size(second)} 0) (+) 0 "
            f"(map (\\x -> i64.{type_} x % 5) r) r) {name}")), type_, (first, second)

    def by_row(self):
        """What vectors are made from, for each row."""
        name, type_, (first, second) = self.array(rank=2)
        arrays, scalars = self.arrays, self.scalars
        row, at = self.fresh("r"), self.fresh("at")
        self.arrays = [a for a in arrays if a[2] == (second,)] + [(row, type_, (second,))] * 2
        self.scalars = scalars + [(at, "i64")]
        exp, made, shape = None, None, None
        while shape != (second,):
            exp, made, shape = self.pick(self.OF_ROWS)(self)
        self.arrays, self.scalars = arrays, scalars
        return f"map2 (\\{row} {at} -> {exp}) {name} (iota {size(first)})", made, (first, second)

    def number_by_row(self):
        name, type_, (first, second) = self.array(rank=2)
        arrays, row = self.arrays, self.fresh("r")
        self.arrays = [(row, type_, (second,))]
        exp, made, _ = self.pick(self.OF_ROWS)(self)
        self.arrays = [("v", made, (second,))]
        number, made = self.number()
        self.arrays = arrays
        return f"map (\\{row} -> let v = {exp} in {number}) {name}", made, (first,)

    def turned(self):
        name, type_, (first, second) = self.array(rank=2)
        return f"transpose {name}", type_, (second, first)

    def recut(self):
        """Rows of another length, of a matrix that may lie in another order."""
        name, type_, (first, second) = self.array(rank=2)
        whole = self.pick((name, f"(transpose {name})", f"(map reverse (transpose {name}))"))
        shape = self.pick(((first, second), (second, first)))
        count = f"{size(shape[0])} * {size(shape[1])}"
        return f"unflatten (flatten {whole} :> [{count}]{type_})", type_, shape

    OF_ROWS = (tabulated, mapped, scanned, segments, kept, compacted, histogram, scattered,
               rearranged, table, rounds, tries, few, windows, records)

    # ---- pictures with channels

    def channels(self):
        """Of each point, or of each channel of each point."""
        name, type_, _ = self.array(rank=3)
        made = self.type()
        op, neutral = self.reduction(made)
        near = f"{name}[{self.place('i', 'n')}, {self.place('j', 'm')}, c]"
        atoms = [(f"{name}[i, j, c]", type_), (near, type_), ("c", "i64"), ("j", "i64")]
        atoms.append((f"{name}[i, j, {self.pick(('2 - c', '(c + 1) % 3', '0'))}]", type_))
        point = [(f"p[{c}]", type_) for c in range(3)]
        whole, indexed = ("n", "m", "3"), point + [("c", "i64")]
        one = self.value(made, [("x", type_)] + self.scalars, 2)
        return self.pick((
            (f"map (map (\\p -> {self.value(made, point, 3)})) {name}", ("n", "m")),
            (f"map (map (\\p -> reduce {op} {neutral} (map (\\x -> {made}.{type_} x) p))) {name}",
             ("n", "m")),
            (f"map (\\r -> reduce {op} {neutral} (flatten (map (map {made}.{type_}) r))) {name}",
             ("n",)),
            (f"tabulate_3d n m 3 (\\i j c -> {self.value(made, atoms, 3)})", whole),
            (f"map (map (\\p -> tabulate 3 (\\c -> {self.value(made, indexed, 2)}))) "
             f"{name}", whole),
            (f"map (map (map (\\x -> {one}))) {name}", whole))), made

    def picture_with_channels(self):
        (exp, shape), type_ = self.channels()
        return exp, type_, shape

    def planes(self):
        """Channels first and back, sums of planes, rows mirrored."""
        name, type_, shape = self.array(rank=3)
        first = f"(transpose (map transpose {name}))"
        return self.pick((
            (f"map reverse {name}", shape), (f"map (map reverse) {name}", shape),
            (f"map transpose (transpose (map (map (map (+ 1))) {first}))", shape),
            (f"map (\\c -> {name}[:, :, 1][{self.place('c', 'n')}]) (iota n)", ("n", "m"))
            if self.chance(0.4) else (f"reverse {name}", shape),
            (f"map (\\i -> reduce (map2 (+)) (replicate m 0) {first}[:, i]) (iota n)"
             if self.chance(0.5) else f"map (map (.[1])) {name}".replace("(.[1])", "(\\p -> p[1])"),
             ("n", "m")))), type_

    def turned_planes(self):
        (exp, shape), type_ = self.planes()
        return exp, type_, shape

    # ---- matrices that change, two-dimensional histograms, choices between arrays

    def table_2d_in_place(self):
        name, type_, (first, second) = self.array(rank=2)
        a, b = size(first), size(second)
        atoms = [("t[i - 1, j]", type_), ("t[i, j - 1]", type_), ("t[i - 1, j - 1]", type_),
                 (f"{name}[i, j]", type_), ("i", "i64"), ("j", "i64")]
        cells = (f"loop t = copy {name} for i in 1..<i64.max 1 {a} do loop t for j in "
                 f"1..<i64.max 1 {b} do t with [i, j] = {self.value(type_, atoms, 2)}")
        rows = (f"loop t = copy {name} for i in 1..<i64.max 1 {a} do "
                f"let row = map2 (\\x y -> {self.value(type_, [('x', type_), ('y', type_)], 2)}) "
                f"t[i - 1] {name}[i] in t with [i] = row")
        return f"({self.pick((cells, rows))})", type_, (first, second)

    def histogram_2d(self):
        name, type_, (dim,) = self.array()
        at = f"({self.value('i64', self.atoms('i', dim), 1)} % 20, i % 7)"
        n = size(dim)
        return self.pick((
            f"reduce_by_index_2d (replicate n (replicate m ({type_}.i64 1))) (+) 0 "
            f"(tabulate {n} (\\i -> {at})) {name}",
            f"scatter_2d (replicate n (replicate m ({type_}.i64 1))) "
            f"(tabulate {n} (\\i -> (i / i64.max 1 m, i % i64.max 1 m))) {name}",
            )), type_, ("n", "m")

    def either(self):
        rank = self.pick((1, 1, 2))
        name, type_, shape = self.array(rank=rank)
        others = [a[0] for a in self.arrays if a[1:] == (type_, shape)]
        condition = self.comparison(self.scalars)
        return self.pick((
            f"if {condition} then {name} else {self.pick(others)}",
            f"(loop (a, b) = ({name}, {self.pick(others)}) for _t < 3 do "
            f"(b, {'map2 (map2 (+))' if rank == 2 else 'map2 (+)'} a b)).{self.pick((0, 1))}",
            f"(loop (a, t) = ({name}, 0i32) while t < 9 && {self.picked_number(shape)} do "
            f"(map (\\x -> x / 2) a, t + 1)).0"
            if rank == 1 else f"map (\\r -> if length r > 2 then r else map (+ 1) r) {name}")), \
            type_, shape

    def picked_number(self, shape):
        n = size(shape[0])
        return f"{n} > 0 && a[{n} / 2] > 5"

    STATEMENTS = (tabulated, tabulated, mapped, picture, picture, scanned, segments, kept, compacted,
                  histogram, scattered, rearranged, rows_to_numbers, columns_to_numbers, table,
                  rounds, tries, few, windows, records, flat, either, either)
    OF_MATRICES = (table_2d, unflattened, of_rows, of_rows, turned, by_row, by_row, number_by_row,
                   picture_with_channels, picture_with_channels, turned_planes, table_2d_in_place,
                   histogram_2d, recut)


def neutral_of_least(type_):
    return f"{type_}.inf" if type_[0] == "f" else f"{type_}.highest"
