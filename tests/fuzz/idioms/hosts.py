"""Small arrays in many rounds of loops of the host: rounds that end when the arrays say so, arrays that
grow and shrink, several arrays and numbers carried at once."""
from idioms.words import Words, size


class Hosts(Words):
    ROUNDS = ("20", "7", "(10 + i64.i32 (k & 7))")

    def small(self):
        """A small array made of one of any size."""
        name, type_, (dim,) = self.array()
        c, n = self.pick((1, 3, 8, 20)), size(dim)
        return f"tabulate {c} (\\i -> if {n} == 0 then {type_}.i64 i else {name}[i % {n}])", type_, str(c)

    def spread(self, exp, type_, c):
        """A small array as one of the sizes that programs have."""
        dim = self.dim()
        return f"({exp} |> \\small -> tabulate {size(dim)} (\\i -> small[i % {c}]))", type_, (dim,)

    def several(self):
        """Statements over small arrays, whose numbers the next ones need."""
        first, type_, c = self.small()
        atoms = [("x", type_), ("s", type_), ("t", "i64")]
        op, neutral = self.reduction(type_)
        pairs = [(f"b[{self.place('i', c)}]", type_), ("b[i]", type_), ("s", type_), ("i", "i64")]
        then = self.value(type_, [("s", type_), ("r", type_), ("t", "i64")], 2)
        last = self.pick((f"tabulate {c} (\\i -> {self.value(type_, pairs, 2)})", f"b with [t % {c}] = r",
                          f"scan (+) 0 b", f"if {self.comparison([('r', type_), ('t', 'i64')])} then b else reverse b",
                          f"b with [{c} / 2:] = map (+ 1) b[:{c} - {c} / 2]"))
        end = self.pick((f"for t < {self.pick(self.ROUNDS)}", None, None))
        body = (f"let b = map (\\x -> {self.value(type_, atoms, 2)}) a let r = reduce {op} {neutral} b "
                f"let s = {then} let b = {last}")
        if end:
            return self.spread(f"(loop (a, s) = ({first}, 2) {end} do {body} in (b, s)).0", type_, c)
        until = self.pick((f"s != 9", f"a[0] < 50", f"any (> 3) a", f"reduce {type_}.max {type_}.lowest a < 100"))
        return self.spread(f"(loop (a, s, t) = ({first}, 2, 0i64) while t < 25 && {until} do {body} in (b, s, t + 1)).0", type_, c)

    def two_small(self):
        """Two arrays of different sizes and a place."""
        first, type_, c = self.small()
        second, of, d = self.small()
        atoms = [(f"a[i]", type_), (f"({type_}.{of} b[i % {d}])", type_), (f"({type_}.{of} b[p % {d}])", type_), (f"a[p % {c}]", type_)]
        others = [("y", of), (f"({of}.{type_} a[p % {c}])", of), ("p", "i64")]
        step = self.pick(("p + 1", f"(p * 3 + 1) % 17", f"i64.{of} b[0] & 15", f"p + i64.bool (a[0] > 3)"))
        body = self.pick((
            f"(tabulate {c} (\\i -> {self.value(type_, atoms, 2)}), map (\\y -> {self.value(of, others, 2)}) b, {step})",
            f"(let a2 = tabulate {c} (\\i -> {self.value(type_, atoms, 2)}) in (a2, copy b with [p % {d}] = {of}.{type_} a2[p % {c}], {step}))",
            f"(if p % 2 == 0 then (a, reverse b, {step}) else (tabulate {c} (\\i -> {self.value(type_, atoms, 2)}), b, {step}))",
            f"(let h = reduce_by_index (copy a) (+) 0 (map (\\y -> i64.{of} y % {c}) b) (map {type_}.{of} b) in (h, rotate 1 b, {step}))"))
        last = self.pick(((0, type_, c), (1, of, d)))
        return self.spread(f"(loop (a, b, p) = ({first}, {second}, 0i64) for _t < {self.pick(self.ROUNDS)} do {body}).{last[0]}",
                           last[1], last[2])

    def growing(self):
        """An array that grows or shrinks, and in the end is brought to a size."""
        first, type_, c = self.small()
        dim = self.dim()
        exp = self.pick((
            f"loop (a: []{type_}) = {first} for t < 6i64 do if length a < 40 then a ++ [{type_}.i64 t, last a] else a[2:]",
            f"loop (a: []{type_}) = {first} for t < 4i64 do filter (\\x -> {self.comparison([('x', type_), ('t', 'i64')])}) a ++ [1]",
            f"loop (a: []{type_}) = {first} while length a > 1 do let h = length a / 2 in map2 (\\x y -> "
            f"{self.value(type_, [('x', type_), ('y', type_)], 2)}) a[:h] a[h:2 * h] ++ a[2 * h:]",
            f"(loop (a: []{type_}, out: []{type_}) = ({first}, []) while length a > 0 do "
            f"let (p, q) = partition (<= a[length a / 2]) a in (if null q || null p then a[1:] else q, out ++ p[:1])).1",
            f"loop (a: []{type_}) = {first} for t < 5i64 do map2 (\\x y -> x - y) a[:length a / 2] a[length a - length a / 2:] ++ [3]",
            f"loop (a: []{type_}) = {first} for t < 4i64 do flatten (map (\\x -> [x, x + 1]) a)"))
        return (f"(let a: []{type_} = {exp} let c = length a in tabulate {size(dim)} (\\i -> if i < c then a[i] else {type_}.i64 c))",
                type_, (dim,))

    def small_matrix(self):
        """Products, powers and eliminations of small matrices."""
        first, type_, c = self.small()
        kind = type_ if type_[0] != "f" else "i32"
        atoms = [("a[i, j]", kind), (f"a[{self.place('i', c)}, {self.place('j', c)}]", kind), ("s", kind), ("i", "i64"), ("j", "i64")]
        step = self.pick((
            f"tabulate_2d {c} {c} (\\i j -> {kind}.sum (map2 (*) a[i] a[:, j]))",
            f"map (\\r -> map (\\q -> reduce (+) 0 (map2 (*) r q)) (transpose a)) a",
            f"tabulate_2d {c} {c} (\\i j -> {self.value(kind, atoms, 2)})",
            f"copy (transpose a) with [t % {c}] = map (+ s) a[t % {c}]",
            f"(let r = map (\\q -> {kind}.sum q) a in map2 (\\q x -> map (\\y -> y - x) q) a r)"))
        return self.spread(f"(let a = (let v = map {kind}.{type_} ({first}) in tabulate_2d {c} {c} (\\i j -> v[i] + {kind}.i64 j)) in "
                           f"(loop (a, s) = (a, 1) for t < {self.pick(('3', '5'))} do let b = {step} in "
                           f"(b, s + b[0, {c} - 1])).0[{c} / 2])", kind, c)

    def by_point(self):
        """The same within the points of a map."""
        first, type_, c = self.small()
        dim = self.dim()
        op, neutral = self.reduction(type_)
        atoms = [("x", type_), ("s", type_), ("t", "i64"), ("i", "i64")]
        return (f"(let f = {first} in tabulate {size(dim)} (\\i -> (loop (a, s) = (f, {type_}.i64 i) for t < {self.pick(('2', '5', 'i % 4'))} "
                f"do let b = map (\\x -> {self.value(type_, atoms, 2)}) a in (b, s + reduce {op} {neutral} b)).1))", type_, (dim,))

    STATEMENTS = (several, several, several, two_small, two_small, growing, growing, small_matrix, by_point)
    OF_MATRICES = STATEMENTS
