"""Index arithmetic: arrays cut into blocks, turned, mirrored, sliced by steps and joined again, in one
to four dimensions, by operators and by divisions and remainders."""
from idioms.words import Words, size


class Shapes(Words):
    # ---- chains of operators.  A chain holds the text of an array, and its dimensions as texts.

    def along(self, axis, function, text):
        """function applied to the rows of a dimension."""
        for _ in range(axis):
            function = f"map ({function})"
        return f"({function} {text})" if function[0] != "\\" else f"(({function}) {text})"

    def step(self, text, dims, type_):
        axis = self.random.randrange(len(dims))
        d = dims[axis]
        kind = self.random.randrange(9)
        if kind < 3 and len(dims) > 1:
            axis = self.random.randrange(len(dims) - 1)
            turned = dims[:axis] + [dims[axis + 1], dims[axis]] + dims[axis + 2:]
            return self.along(axis, "transpose", text), turned
        if kind == 3:
            return self.along(axis, "reverse", text), dims
        if kind == 4:
            return self.along(axis, f"rotate {self.pick(('1', '(-1)', '3', f'(-{d})'))}", text), dims
        if kind == 5:
            whole = f"[{d}]" + "".join(f"[{e}]" for e in dims[axis + 1:]) + type_
            cut = self.pick((f"(let h = {d} / 2 in z[h:] ++ z[:h])", "z[::-1]", f"(let h = i64.min 2 {d} in z[h:] ++ z[:h])",
                             f"(let h = (1 + {d}) / 2 in z[:h] ++ z[h:][::-1])", "(z[::2] ++ z[1::2])", "(z[1::2] ++ z[::2])"))
            return self.along(axis, f"\\z -> {cut} :> {whole}", text), dims
        if kind == 6:
            place = self.place("i", d)
            return self.along(axis, f"\\z -> tabulate ({d}) (\\i -> z[{place}])", text), dims
        if kind == 7:
            op, neutral = self.reduction(type_) if type_[0] != "f" else (f"{type_}.max", f"(-{type_}.inf)")
            return self.along(len(dims) - 1, f"scan {op} {neutral}", text), dims
        return self.along(len(dims) - 1, f"map (\\x -> {self.value(type_, [('x', type_)] + self.scalars, 1)})", text), dims

    def chain(self, text, dims, type_, steps):
        lets = ""
        for _ in range(steps):
            text, dims = self.step(text, dims, type_)
            if self.chance(0.3):
                name = self.fresh("z")
                lets += f"let {name} = {text} "
                text = name
        return lets, text, dims

    def blocks(self):
        """A vector in up to four dimensions, and back."""
        name, type_, (dim,) = self.array()
        n = size(dim)
        halves = self.pick((2, 3, 4))
        rank = self.pick((2, 2, 3))
        lets = f"let q = if {n} % {halves} == 0 then {halves} else 1 let r = {n} / q "
        dims = ["q", "r"]
        if dim == "s" and self.chance(0.6):
            lets, dims = "", ["n", "m"]
        if dim == "s" and self.chance(0.5):
            lets = (f"let q = if n % {halves} == 0 then {halves} else 1 let r = n / q "
                    f"let s = if m % 2 == 0 then 2 else 1 let t = m / s ")
            dims = ["q", "r", "s", "t"] if self.chance(0.7) else ["q", "r", "m"]
        elif rank == 3:
            lets += "let u = if r % 2 == 0 then 2 else 1 let v = r / u " if "r" in dims else \
                "let u = if m % 2 == 0 then 2 else 1 let v = m / u "
            dims = [dims[0], "u", "v"]
        unflatten = {2: "unflatten", 3: "unflatten_3d", 4: "unflatten_4d"}[len(dims)]
        flatten = unflatten[2:]
        product = " * ".join(dims)
        whole = "".join(f"[{d}]" for d in dims) + type_
        first = f"({unflatten} ({name} :> [{product}]{type_}) : {whole})"
        more, text, dims = self.chain(first, dims, type_, self.random.randint(1, 5))
        return bound(lets + more, f"{flatten} {text} :> [{n}]{type_}"), type_, (dim,)

    def pictures(self):
        """Matrices and pictures with channels, and back."""
        rank = self.pick((2, 2, 3))
        name, type_, shape = self.array(rank=rank)
        more, text, dims = self.chain(name, [size(d) for d in shape], type_, self.random.randint(1, 5))
        if rank == 2:
            if len(set(dims)) == 1 or self.chance(0.7):
                return bound(more, text), type_, tuple(dims)
            return bound(more, f"flatten {text} :> [n * m]{type_}"), type_, ("s",)
        picked = ", ".join("1" if d == "3" else ":" for d in dims)
        rest = tuple(d for d in dims if d != "3")
        return bound(more + f"let z = {text} ", f"copy z[{picked}]"), type_, rest

    # ---- the same by arithmetic

    def moved(self):
        """Elements of n rows of m, at places that divisions tell."""
        name, type_, _ = self.array(shape=("s",))
        n, m = self.pick((("n", "m"), ("m", "n")))
        i, j = self.pick((("(p / {m})", "(p % {m})"), ("(p % {n})", "(p / {n})")))
        i, j = i.format(n=n, m=m), j.format(n=n, m=m)
        rows, columns = (n, m) if f"/ {m}" in i else (n, m)
        if self.chance(0.5):
            i = f"({rows} - 1 - {i})"
        if self.chance(0.5):
            j = f"({columns} - 1 - {j})"
        if self.chance(0.3):
            i = f"({i} + {self.pick((1, 2))}) % {rows}"
        at = self.pick((f"{i} * {columns} + {j}", f"{j} * {rows} + {i}"))
        other = self.pick((f"x[p] + x[{at}]", f"x[{at}]", f"x[{at}] - x[(p + {columns}) % (n * m)]",
                           f"if {i} < {j} then x[{at}] else x[p]", f"x[p ^ 1 < n * m then p ^ 1 else p]".replace("x[p ^ 1 <", "x[if p ^ 1 <")))
        return f"(let x = {name} in tabulate (n * m) (\\p -> {other}))", type_, ("s",)

    def stepped(self):
        """Slices by steps, also down, whose lengths arithmetic tells."""
        name, type_, (dim,) = self.array()
        n, s = size(dim), self.pick((2, 3, 5))
        made = self.pick((
            f"let e = {name}[::{s}] in tabulate {n} (\\i -> e[i / {s}])",
            f"let e = {name}[::-{s}] in tabulate {n} (\\i -> e[i / {s}] + {name}[i])",
            f"let c = ({n} + {s - 1}) / {s} let e = {name}[::{s}] :> [c]{type_} in scatter (copy {name}) (map (* {s}) (iota c)) (reverse e)",
            f"let c = {n} / {s} in tabulate {n} (\\i -> if i < c then {type_}.sum {name}[i * {s}:(i + 1) * {s}] else 1)"
            if type_[0] != "f" else f"let c = {n} / {s} in tabulate {n} (\\i -> if i < c then {name}[i * {s}] else 1)",
            f"let a = copy {name} in if {n} < {s} then a else a with [{n} - 1:0:-{s}] = map (+ 1) {name}[{n} - 1:0:-{s}]",
            f"let c = {n} / 2 in if {n} < 2 then copy {name} else copy {name} with [c:] = {name}[:{n} - c][::-1]",
            f"let a = {name}[1:] ++ {name}[:1] in tabulate {n} (\\i -> a[i])" if False else
            f"let l = i64.min 1 {n} let a = {name}[l:] ++ {name}[:l] in tabulate {n} (\\i -> a[i] + {name}[i])",
            f"let e = {name}[{n} / 3:{n} - {n} / 3] let c = length e in tabulate {n} (\\i -> if i < c then e[c - 1 - i] else 2)",
            f"let a = replicate {s} 7 ++ {name} ++ replicate {s} 8 in tabulate {n} (\\i -> a[i] + a[i + {s}] * a[i + {2 * s}])",
            f"let a = [1, 2] ++ reverse {name} ++ [3] in tabulate {n} (\\i -> a[i + 1] - a[i + 3])",
            f"let a = {name} ++ map (+ 1) {name} ++ reverse {name} in tabulate {n} (\\i -> a[i * 3] + a[i * 2 + 1])"))
        return f"({made})", type_, (dim,)

    def joined_rows(self):
        """Rows and columns before and behind, interleaved, and pieces of matrices."""
        name, type_, (first, second) = self.array(rank=2)
        a, b = size(first), size(second)
        c, zeros = self.pick((1, 2)), f"replicate {a} (replicate {{}} 0)"
        row = f"(replicate {b} {self.pick((0, 3))})"
        exp = self.pick((
            f"(let z = [{row}] ++ {name} ++ [{row}] in tabulate_2d {a} {b} (\\i j -> z[i, j] + z[i + 2, j]))",
            f"(let z = map (\\r -> [1] ++ r ++ [2, 3]) {name} in tabulate_2d {a} {b} (\\i j -> z[i, j] + z[i, j + 3] * z[i, j + 1]))",
            f"(let z = transpose (transpose {name} ++ replicate {c} (replicate {a} 1)) in map (\\r -> r[{c}:] :> [{b}]{type_}) z)",
            f"(let z = {name} ++ map (map (+ 1)) {name} in tabulate_2d {a} {b} (\\i j -> z[i * 2, j] - z[2 * i + 1, {b} - 1 - j]))",
            f"(let z = map2 (\\r s -> r ++ s) {name} (reverse {name}) in tabulate_2d {a} {b} (\\i j -> z[i, j * 2]))",
            f"(let h = {a} / 2 let w = {b} / 2 in (map2 (\\r s -> (r ++ s) :> [{b}]{type_}) {name}[h:, w:] {name}[h:, :w] ++ "
            f"map (\\r -> reverse r) {name}[:h]) :> [{a}][{b}]{type_})",
            f"(let h = {a} / 2 let w = {b} / 2 let z = copy {name} in z with [:h, :w] = map (map (+ 1)) {name}[{a} - h:, {b} - w:])",
            f"(map (\\r -> r[::-1] :> [{b}]{type_}) {name})[::-1] :> [{a}][{b}]{type_}",
            f"(let z = copy {name} in z with [::-1, :] = map (map (+ 1)) {name})",
            f"tabulate_2d {a} {b} (\\i j -> {name}[i, (j + i) % {b}])",
            f"tabulate_2d {a} {b} (\\i j -> let p = i * {b} + j in {name}[p % {a}, p / {a}])"))
        return exp, type_, (first, second)

    def gathered_windows(self):
        """Windows as rows (im2col), pooling, enlarging."""
        name, type_, (first, second) = self.array(rank=2)
        a, b = size(first), size(second)
        op, neutral = (f"{type_}.max", f"{type_}.lowest") if type_[0] == "f" else self.reduction(type_)
        di, dj = self.pick((2, 3)), self.pick((1, 2, 3))
        exp = self.pick((
            f"(let w = tabulate_2d {a} {b} (\\i j -> tabulate {di * dj} (\\q -> {name}[(i + q / {dj}) % {a}, (j + q % {dj}) % {b}])) "
            f"in map (map (reduce {op} {neutral})) w)",
            f"tabulate_2d {a} {b} (\\i j -> reduce {op} {neutral} (flatten (tabulate_2d {di} {dj} (\\p q -> "
            f"{name}[(i + p) % {a}, i64.min (j + q) ({b} - 1)]))))",
            f"(let h = {a} / {di} let w = {b} / {dj} let z = tabulate_2d h w (\\i j -> reduce {op} {neutral} (flatten "
            f"{name}[i * {di}:(i + 1) * {di}, j * {dj}:(j + 1) * {dj}])) in tabulate_2d {a} {b} (\\i j -> "
            f"if i / {di} < h && j / {dj} < w then z[i / {di}, j / {dj}] else 1))",
            f"(let z = map (\\r -> flatten (map (\\x -> replicate {dj} x) r)) {name} in tabulate_2d {a} {b} (\\i j -> z[i, j * {dj}] - z[i, j]))",
            f"tabulate_2d {a} {b} (\\i j -> loop s = 0 for p < {di} do loop s for q < {dj} do let y = i + p - 1 let x = j + q - 1 in "
            f"if y >= 0 && y < {a} && x >= 0 && x < {b} then s + {name}[y, x] * {type_}.i64 (p + q) else s)",
            f"tabulate_2d {a} {b} (\\i j -> {name}[i / {di}, j / {dj}] + {name}[(i * {di}) % {a}, (j * {dj}) % {b}])"))
        return exp, type_, (first, second)

    STATEMENTS = (blocks, blocks, blocks, moved, moved, stepped, stepped)
    OF_MATRICES = (pictures, pictures, joined_rows, gathered_windows)


def bound(lets, exp):
    return f"({lets}in {exp})" if lets else f"({exp})"
