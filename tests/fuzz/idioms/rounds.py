"""Rounds that read what they make under another shape: flattened, turned, cut, in halves; states that keep
their history, or lie in one array of rows; short rows, few columns, sizes of each point's own; scatters that
write equal values twice; branches that go by the index."""
from idioms.words import Words, size


class Rounds(Words):
    def times(self):
        return self.pick(("2", "3", "(1 + i64.i32 (k & 3))"))

    def of_two(self, type_):
        """A function of two elements."""
        return f"(\\x y -> {self.value(type_, [('x', type_), ('y', type_)] + self.scalars, 2)})"

    # ---- vectors

    def parts_of_state(self):
        """A vector of which each round reads parts in another order."""
        name, type_, (dim,) = self.array()
        n, c, f = size(dim), self.pick((1, 2, 4, 16)), self.of_two(type_)
        h = f"let h = {n} / 2 "
        body = self.pick((
            f"map2 {f} a (rotate {self.pick((1, '(-1)', c))} a)", f"map2 {f} a (reverse a)", f"map2 {f} a a[::-1]",
            f"{h}let e = a[:2 * h:2] :> [h]{type_} let o = a[1:2 * h:2] :> [h]{type_} "
            f"in (map2 {f} e o ++ map2 {f} o e ++ a[2 * h:]) :> [{n}]{type_}",
            f"{h}let e = a[:h] let o = a[h:2 * h] :> [h]{type_} in (flatten (transpose [map2 {f} e o, e]) ++ a[2 * h:]) :> [{n}]{type_}",
            f"{h}in (flatten (map2 (\\x y -> [x, y]) a[:h] (a[h:2 * h] :> [h]{type_})) ++ a[2 * h:]) :> [{n}]{type_}",
            f"{h}let b = tabulate h (\\i -> {f} a[2 * i] a[2 * i + 1]) in a with [:h] = b",
            f"{h}let b = tabulate h (\\i -> {f} a[2 * i] a[2 * i + 1]) in a with [{n} - h:] = b",
            f"let q = i64.min {c} {n} let a = a with [q:] = copy a[:{n} - q] in a with [:q] = replicate q ({type_}.i64 t)",
            f"let q = {n} / {c} let w = unflatten (a[:q * {c}] :> [q * {c}]{type_}) "
            f"in a with [:q * {c}] = (flatten (transpose (map (\\r -> map2 {f} r (reverse r)) w)) :> [q * {c}]{type_})",
            f"let q = {n} / {c} let w = unflatten (a[:q * {c}] :> [{c} * q]{type_}) "
            f"let u = map (scan (+) 0) w in (flatten (transpose u) ++ a[q * {c}:]) :> [{n}]{type_}",
            f"if {n} < 2 then a else a with [1:{n} - 1] = map2 {f} a[:{n} - 2] a[2:]",
            f"let b = scatter (copy a) (map (\\i -> i / 2) (iota {n})) (map (\\i -> a[i / 2] + {type_}.i64 (i / 2)) (iota {n})) in map2 {f} b a",
        ))
        return f"(loop a = copy {name} for t < {self.times()} do {body})", type_, (dim,)

    def history(self):
        """States in the rows of one array."""
        name, type_, (dim,) = self.array()
        other = self.array(shape=(dim,))
        n, f = size(dim), self.of_two(type_)
        start = f"[copy {name}, map (\\x -> {type_}.{other[1]} x) {other[0]}]"
        return self.pick((
            f"(let c = loop c = replicate 4 {name} for t < 3 do c with [t + 1] = map2 {f} c[t] (rotate 1 c[t]) in c[{self.pick((1, 2, 3))}])",
            f"(let c = loop c = replicate 4 {name} for t < 3 do c with [t + 1, :] = scan (+) 0 c[t] in map2 {f} c[3] c[1])",
            f"(let c = loop c = {start} for t < {self.times()} do [c[1], map2 {f} c[0] c[1]] in c[{self.pick((0, 1))}])",
            f"(let c = loop c = {start} for t < {self.times()} do c with [t % 2] = map2 {f} c[0] c[1] in map2 (-) c[0] c[1])",
            f"(let c = loop c = transpose {start} for t < {self.times()} do map (\\r -> [r[1], {f} r[0] r[1]]) c in map (.[0]) c)"
            .replace("(.[0])", "(\\r -> r[0])"),
            f"(let c = loop c = flatten {start} for t < {self.times()} do let w = unflatten (c :> [2 * {n}]{type_}) in "
            f"flatten [map2 {f} w[1] w[0], w[0]] in c[{n}:] :> [{n}]{type_})",
            f"(let c = loop c = replicate 3 {name} for t < 5 do let b = map2 {f} c[t % 3] c[(t + 1) % 3] in c with [(t + 2) % 3] = b in c[1])",
        )), type_, (dim,)

    def short_rows(self):
        """Rows of a few elements, made, changed and put together."""
        name, type_, (dim,) = self.array()
        n, c, f = size(dim), self.pick((2, 3, 4, 8)), self.of_two(type_)
        op, neutral = self.reduction(type_)
        row = self.pick((
            "scan (+) 0 r", "reverse r", f"map2 {f} r (rotate 1 r)", f"map (\\x -> x - reduce {op} {neutral} r) r",
            f"(loop r = copy r for t < {c - 1} do if r[t] > r[t + 1] then let x = r[t] let y = r[t + 1] in r with [t] = y with [t + 1] = x else r)",
            f"(loop r = copy r for t < {c} do let x = r[t] in map (\\y -> {f} x y) r)", f"(copy r with [1:] = r[:{c} - 1])",
            f"scatter (copy r) (map (\\i -> i / 2) (iota {c})) (map (\\i -> r[i / 2] + {type_}.i64 (i / 2)) (iota {c}))",
            f"hist {op if 'if' not in op else '(+)'} {neutral if 'if' not in op else '0'} {c} (map (\\x -> i64.{type_} x % {c}) r) r"))
        rows = self.pick((f"unflatten ({name}[:q * {c}] :> [q * {c}]{type_})", f"transpose (unflatten ({name}[:q * {c}] :> [{c} * q]{type_}))",
                          f"tabulate q (\\i -> {name}[{c} * i:{c} * i + {c}] :> [{c}]{type_})",
                          f"tabulate_2d q {c} (\\i j -> {name}[i + j * q])"))
        last = self.pick((f"flatten w ++ {name}[q * {c}:]", f"{name}[q * {c}:] ++ flatten (transpose w)",
                          f"map (\\r -> reduce {op} {neutral} r) w ++ {name}[q:]",
                          f"tabulate {n} (\\i -> if i < q * {c} then w[i / {c}, i % {c}] else 7)",
                          f"reduce (map2 (+)) (replicate {c} 0) w ++ {name}[i64.min {c} {n}:] |> (\\u -> u[:{n}])"))
        return (f"(let q = {n} / {c} let w = {rows} let w = map (\\r: [{c}]{type_} -> {row}) w in ({last}) :> [{n}]{type_})"), type_, (dim,)

    def own_sizes(self):
        """Slices and iotas whose size each point has of its own."""
        name, type_, (dim,) = self.array()
        n, c = size(dim), self.pick((2, 3, 7))
        op, neutral = self.reduction(type_)
        atoms = [("x", type_), ("i", "i64")] + self.scalars
        part = self.pick((f"{name}[i64.max 0 (i - {c}):i]", f"{name}[i:i64.min {n} (i + {c})]", f"{name}[i / 2:i64.min {n} (i / 2 + i % {c})]",
                          f"(map (\\j -> {name}[j % {n}]) (iota (i % {c})))", f"(replicate (i % {c}) {name}[i])", f"{name}[:i64.min {c} i]",
                          f"(filter (\\x -> x > 3) {name}[i64.max 0 (i - {c}):i])", f"({name}[:i % {c} % {n}] ++ [{type_}.i64 i])"))
        made = self.pick(("p", "p", f"(map (\\x -> {self.value(type_, atoms, 2)}) p)", "(scan (+) 0 p)", "(reverse p)", "(rotate 1 p)"))
        end = self.pick((f"reduce {op} {neutral} {made}", f"loop s = {type_}.i64 i for x in {made} do s * 3 + x",
                         f"let u = {made} in if null u then 5 else u[length u - 1]", f"let u = {made} in {type_}.i64 (length u) + reduce {op} {neutral} u",
                         f"let u = copy {made} let z = length u let u = loop u for j in 1..<i64.max 1 z do u with [j] = u[j - 1] + u[j] in reduce {op} {neutral} u"))
        return f"tabulate {n} (\\i -> let p = {part} in {end})", type_, (dim,)

    def by_index(self):
        """Branches that go by the index, over elements and over arrays."""
        name, type_, (dim,) = self.array()
        n, c = size(dim), self.pick((1, 4, 16))
        v = lambda: self.value(type_, self.atoms("i", dim), 2)
        f = self.of_two(type_)
        return self.pick((
            f"tabulate {n} (\\i -> if i < {c} then {v()} else if i == {n} - 1 then {v()} else {v()})",
            f"tabulate {n} (\\i -> if i % {c + 1} == 0 then {v()} else if i / 2 % 2 == 1 then {v()} else 3)",
            f"(loop a = copy {name} for t < 4 do if t % 2 == 0 then map2 {f} a (rotate 1 a) else if t == 1 then a with [{n} / 2:] = copy (reverse a[{n} / 2:]) else scan (+) 0 a)",
            f"(let rs = tabulate 3 (\\i -> if i == 0 then map2 {f} {name} {name} else if i == 1 then scan (+) 0 {name} else reverse {name}) in map2 {f} rs[0] (map2 (-) rs[1] rs[2]))",
            f"tabulate {n} (\\i -> let r = if i % 2 == 0 then [{name}[i], 1, 2] else [3, {name}[{self.place('i', n)}], {name}[i]] in r[i % 3] - r[0])",
            f"(loop a = copy {name} for i < {n} do if i < {c} then a with [i] = a[{n} - 1 - i] else if i % 3 == 0 then a with [i] = a[i - {c}] + a[i] else a)",
        )), type_, (dim,)

    def written_twice(self):
        """Scatters with several equal values for a place."""
        name, type_, (dim,) = self.array()
        n, c = size(dim), self.pick((2, 3, 5))
        g = self.value(type_, [("j", "i64")] + self.scalars, 2)
        at = self.pick((f"i / {c}", f"i % {c}", f"if i % 2 == 0 then 0 else i", f"(i / {c}) * {c}", f"i64.min i {c}", f"i - i % 2", "if i > 3 then -1 else 0"))
        return self.pick((
            f"(let at = map (\\i -> {at}) (iota {n}) in scatter (copy {name}) at (map (\\j -> {g}) at))",
            f"(let at = tabulate {n} (\\i -> {at}) in loop a = copy {name} for t < {self.times()} do scatter a at (map (\\j -> {g} + {type_}.i64 t) at))",
            f"(let at = tabulate {n} (\\i -> {at}) let w = scatter (replicate {n} (replicate 3 2)) at (map (\\j -> [{g}, 1, {type_}.i64 j]) at) in map (\\r -> r[0] - r[2]) w)",
        )), type_, (dim,)

    # ---- matrices

    def other_shape(self):
        """A matrix that each round reads flattened or turned."""
        name, type_, (first, second) = self.array(rank=2)
        a, b, f = size(first), size(second), self.of_two(type_)
        s, c = f"({a} * {b})", self.pick((1, 2, 3, 17))
        flat = f"let f = flatten a in "
        body = self.pick((
            f"{flat}tabulate_2d {a} {b} (\\i j -> {f} f[(i * {b} + j + {c}) % {s}] a[i, j])",
            f"{flat}tabulate_2d {a} {b} (\\i j -> {f} f[j * {a} + i] a[{self.place('i', a)}, j])",
            f"{flat}unflatten (map2 {f} f (rotate {c} f))", f"{flat}unflatten (scan (+) 0 f)",
            f"unflatten (flatten (transpose a) :> [{a} * {b}]{type_})",
            f"unflatten (flatten (map (\\r -> map2 {f} r (reverse r)) (transpose a)) :> [{a} * {b}]{type_})",
            f"{flat}let g = f with [{s} / 2:] = copy (reverse f[{s} / 2:]) in map2 (map2 {f}) a (unflatten g)".replace("f with", "copy f with"),
            f"let g = transpose a in tabulate_2d {a} {b} (\\i j -> {f} g[j, {self.place('i', a)}] a[i, {self.place('j', b)}])",
            f"transpose (map (scan (+) 0) (transpose a))", f"map2 (map2 {f}) a (reverse a)", f"map2 {f} (flatten a) (reverse (flatten a)) |> unflatten",
            f"let r = reduce (map2 (+)) (replicate {b} 0) a in map (map2 {f} r) a", f"let q = map (reduce (+) 0) a in map2 (\\x r -> map (\\y -> {f} x y) r) q a",
            f"tabulate_2d {a} {b} (\\i j -> if i < j then a[i, {b} - 1 - j] else a[{a} - 1 - i, j])",
            f"a[::-1] :> [{a}][{b}]{type_}", f"(a[:, ::-1] :> [{a}][{b}]{type_}) |> map2 (map2 {f}) a"))
        return f"(loop a = copy {name} for t < {self.times()} do {body})", type_, (first, second)

    def flat_state(self):
        """A vector whose rows change in place."""
        name, type_, (first, second) = self.array(rank=2)
        a, b, f = size(first), size(second), self.of_two(type_)
        row = f"a[i * {b}:(i + 1) * {b}]"
        other = self.pick((f"a[({a} - 1 - i) * {b}:({a} - i) * {b}]", f"a[i * {b} / 2:i * {b} / 2 + {b}]", f"a[:{b}]"))
        body, to = self.pick((
            (f"a with [i * {b}:(i + 1) * {b}] = map2 {f} ({row} :> [{b}]{type_}) ({other} :> [{b}]{type_})", a),
            (f"a with [i * {b}:(i + 1) * {b}] = scan (+) 0 ({other} :> [{b}]{type_})", a),
            (f"a with [i:{a} * {b}:{b}] = map2 {f} (a[i:{a} * {b}:{b}] :> [{a}]{type_}) (a[{b} - 1 - i:{a} * {b}:{b}] :> [{a}]{type_})", b),
            (f"loop a for j < {b} do a with [i * {b} + j] = {f} a[j * {a} + i] a[i * {b} + j]", a),
            (f"let w = unflatten (a :> [{b} * {a}]{type_}) in flatten (map2 (\\r j -> if j == i then reverse r else r) w (iota {b})) :> [{a} * {b}]{type_}", b)))
        return (f"(if {b} == 0 then copy {name} else unflatten (loop a = flatten (copy {name}) for i < i64.min 5 {to} do {body}))"), type_, (first, second)

    def nested_rounds(self):
        """Loops of loops that consume their state."""
        name, type_, (first, second) = self.array(rank=2)
        a, b, f = size(first), size(second), self.of_two(type_)
        return self.pick((
            f"(loop a = copy {name} for t < {self.times()} do loop a for i < {a} do let r = map2 {f} a[i] a[(i + 1) % {a}] in a with [i] = r)",
            f"(loop a = copy {name} for t < {self.times()} do let a = loop a for j < {b} do a with [:, j] = map (+ {type_}.i64 t) a[:, {b} - 1 - j] in map reverse a)",
            f"map (\\r -> loop r = copy r for t < {self.times()} do loop r for j in 1..<i64.max 1 {b} do r with [j] = {f} r[j - 1] r[j]) {name}",
            f"map (\\r -> loop r = copy r for t < {self.times()} do let r = r with [{b} / 2:] = map (+ 1) r[:{b} - {b} / 2] in scan (+) 0 r) {name}",
            f"(loop (a, b) = (copy {name}, {name}) for t < {self.times()} do (map2 (map2 {f}) b a, if t % 2 == 0 then reverse a else map reverse b)).0",
            f"map2 (\\r i -> loop r = copy r for t < i % 4 do if t == 0 then reverse r else map2 {f} r (rotate 1 r)) {name} (iota {a})",
            f"(loop a = copy {name} for i < {a} do let r = copy a[i] let r = loop r for j < {b} - 1 do r with [j + 1] = {f} r[j] r[j + 1] in a with [i] = r)",
        )), type_, (first, second)

    STATEMENTS = (parts_of_state, parts_of_state, parts_of_state, history, history, short_rows, short_rows, own_sizes,
                  own_sizes, by_index, by_index, written_twice)
    OF_MATRICES = (other_shape, other_shape, flat_state, nested_rounds, nested_rounds)
