"""Matrices that are seen through slices with strides, turned, reversed and in other rows, two alike, and what
reads them: maps, sums and scans of rows and columns, products, stencils, loops through rows, histograms,
updates; in the points of a map, too."""
import random
import re

from choices import Choices

SIZES = (0, 1, 2, 3, 5, 8, 16, 17, 33, 40, 64, 65)
MOST = 2000
TYPES = ("i32", "i32", "f32", "u8", "i16", "i64", "f64")


class SlicesGenerator(Choices):
    expected = None
    may_fail = False

    def __init__(self, seed):
        super().__init__(random.Random(seed))
        self.ranks = {}

    def widen(self):
        pass

    # ---- views

    def view(self, a, b):
        """Definitions of sizes, what a matrix x of [a][b] is seen as, and that one's sizes."""
        h, g, t = self.fresh("h"), self.fresh("h"), self.type_
        s = self.one_of("2", "3", "k", "k", "(k + 1)")
        o = self.one_of("0", "0", "1", "o")
        low = f"let {g} = i64.min {o} {{}} "
        strided = lambda n: f"let {h} = ({n} + {s} - 1) / {s} "
        form = self.random.randrange(15)
        if form == 0:
            return strided(a), f"({{x}}[::{s}] :> [{h}][{b}]{t})", h, b
        if form == 1:
            return strided(b), f"({{x}}[:, ::{s}] :> [{a}][{h}]{t})", a, h
        if form == 2:
            return strided(a), f"({{x}}[::-{s}] :> [{h}][{b}]{t})", h, b
        if form == 3:
            return strided(b), f"({{x}}[:, ::-{s}] :> [{a}][{h}]{t})", a, h
        if form == 4:
            return low.format(a) + f"let {h} = ({a} - {g} + {s} - 1) / {s} ", f"({{x}}[{g}:{a}:{s}, :] :> [{h}][{b}]{t})", h, b
        if form == 5:
            return low.format(b) + f"let {h} = ({b} - {g} + {s} - 1) / {s} ", f"({{x}}[:, {g}:{b}:{s}] :> [{a}][{h}]{t})", a, h
        if form == 6:
            return f"let {h} = ({a} + 1) / 2 let {g} = ({b} + {s} - 1) / {s} ", f"({{x}}[::2, ::{s}] :> [{h}][{g}]{t})", h, g
        if form in (7, 8):
            return "", "(transpose {x})", b, a
        if form == 9:
            return "", self.one_of("{x}[::-1]", "(map reverse {x})", "(reverse {x})", "{x}[::-1, ::-1]"), a, b
        if form == 10:
            return f"let {h} = {b} let {g} = {a} ", f"(unflatten (flatten {{x}} :> [{h} * {g}]{t}))", h, g
        if form == 11:
            return low.format(a), f"({{x}}[{g}:] :> [{a} - {g}][{b}]{t})", f"({a} - {g})", b
        if form == 12:
            return f"let {h} = {b} / 2 ", f"({{x}}[:, {b} - {h}:] :> [{a}][{h}]{t})", a, h
        if form == 13:
            return f"let {h} = {a} * {b} / 2 ", f"(unflatten ((flatten {{x}})[:{h} * 2] :> [{h} * 2]{t}))", h, "2"
        return "", self.one_of("(rotate 1 {x})", "(map (rotate k) {x})", "(map (map (+ 1)) {x})", "(copy {x})"), a, b

    def seen(self, a, b, inline):
        """A view; inline: its sizes are written out, so that they are the same for all points of a map."""
        sizes, text, p, q = self.view(a, b)
        found = re.findall(r"let (h\d+) = (.*?) (?=let |$)", sizes) if inline else []
        for name, size in reversed(found):  # which mention those before them
            text, p, q = (re.sub(rf"\b{name}\b", f"({size})", part) for part in (text, p, q))
        return "" if inline else sizes, text, p, q

    # ---- readers of v and w, [a][b] both

    def term(self, *names):
        """Of small whole numbers, few enough that sums of floats are exact."""
        c = self.one_of("1", "2", "3")
        a, b = self.one_of(*names), self.one_of(*names)
        return self.one_of(f"({a} * {b})", f"({a} + {b})", f"({a} - {b} * {c})", f"({a} * {c})", f"(if {a} < {b} then {a} else {b} + {c})", f"({self.type_}.max {a} {b})", f"({a} - {b})")

    def reader(self, v, w, a, b):
        t = self.type_
        two, one = self.term("x", "y"), self.term("x", "x", "z")
        op, ne = self.one_of(("(+)", "0"), (f"{t}.max", f"{t}.lowest" if t[0] != "f" else f"(-{t}.inf)"), ("(+)", "0"))
        s = f"({t}.sum (map2 (\\x y -> {two}) r q))"
        near = self.term("v[i, j]", f"v[i64.max 0 (i - 1), j]", f"v[i, (j + 1) % {b}]", f"w[{a} - 1 - i, j]", f"w[i, i64.min ({b} - 1) (j + 2)]")
        named = f"let v = {v} let w = {w} in "
        if self.random.random() < 0.25:  # in the points of a map
            row = self.one_of("map (\\x -> let z = x in " + one + ") r", f"scan {op} {ne} r", "reverse r", f"loop c = copy r for i < {b} - 1 do let x = c[i] let y = c[i + 1] in (c with [i] = {t}.min x y) with [i + 1] = {t}.max x y",
                            f"(loop (p, q) = (copy r, copy r) for i < 2 do (map2 (\\x y -> {two}) p (rotate 1 q), p)).0", f"map2 (\\x y -> {two}) r[::-1] r",
                            f"let g = {b} / 2 in (r[:g] ++ r[g:]) :> [{b}]{t}", f"let c = copy r let g = {b} / 2 in c with [:g] = copy c[{b} - g:]")
            return self.one_of(f"map (\\r -> {row}) {v}", f"transpose (map (\\r -> {row}) {v})", f"map (\\r -> {op} 3 (reduce {op} {ne} ({row}))) {v}")
        return self.one_of(
            f"map (map (\\x -> let z = x in {one})) {v}", f"map2 (map2 (\\x y -> {two})) {v} {w}", f"map (\\r -> reduce {op} {ne} r) {v}", f"map (reduce {op} {ne}) (transpose {v})",
            f"map2 (\\r q -> {s}) {v} {w}", f"map (\\r -> map (\\q -> {s}) {w}) {v}", f"map (\\r -> map (\\q -> {s}) {w}) {v}", f"map (\\r -> map (\\q -> {s}) (transpose {w})) (transpose {v})",
            f"map (\\r -> map (\\q -> {s}) {w} |> reduce {op} {ne}) {v}", f"map (scan {op} {ne}) {v}", f"transpose (map (scan {op} {ne}) (transpose {v}))",
            f"reduce (map2 {op}) (replicate {b} {ne}) {v}", f"scan (map2 {op}) (replicate {b} {ne}) {v}", f"map (\\r -> loop c = 1 for x in r do let y = c in {self.term('x', 'y', 'y') if t[0] != 'f' else f'{t}.max x y'}) {v}",
            f"map2 (\\r q -> loop c = 1 for i < {b} do let x = r[i] let y = q[{b} - 1 - i] in c + {two}) {v} {w}", f"({named}tabulate_2d {a} {b} (\\i j -> {near}))",
            f"map2 (\\r q -> (loop (c, i) = (0, 0i64) while i < {b} && c < 99 do let x = r[i] let y = q[i] in (c + {t}.max x y, i + 1)).0) {v} {w}",
            f"hist (+) 0 7 (map (\\x -> i64.{t} x % 7) (flatten {v})) (flatten {w})", f"filter (\\x -> x > 20) (flatten {v})", f"reduce {op} {ne} (flatten {v})", f"scan {op} {ne} (flatten {v})",
            f"scatter (flatten (copy {v})) (tabulate ({a} * {b}) (\\i -> i * 2)) (flatten {w})", f"(let c = copy {v} let g = ({a} + 1) / 2 in c with [::2] = (copy {w}[:g] :> [g][{b}]{t}))",
            f"(let c = copy {v} let g = ({b} + 1) / 2 in if {b} == 0 then c else c with [:, ::2] = (copy {w}[:, :g] :> [{a}][g]{t}))", f"({v} ++ {w})", f"map2 (\\r q -> [r, q]) {v} {w}", f"transpose [flatten {v}, flatten {w}]",
            f"({named}loop c = copy v for i < 2 do map2 (map2 (\\x y -> {two})) (rotate 1 c) w)", f"({named}tabulate_3d {a} {b} 2 (\\i j l -> if l == 0 then v[i, j] else w[{a} - 1 - i, j]))",
            f"({named}map (\\i -> reduce {op} {ne} (map (\\j -> v[i, j]) (iota (i64.min {b} (i % 5))))) (iota {a}))", f"map2 (\\r i -> map (\\x -> let y = {t}.i64 i in {two}) r) {v} (iota {a})")

    # ---- programs

    def body(self, x, y, inline):
        text, v, w, a, b = "", x, y, "n", "m"
        for _ in range(self.random.randint(1, 4)):
            sizes, seen, a, b = self.seen(a, b, inline)
            p, q = self.fresh("v"), self.fresh("w")
            text += f"{sizes}let {p} = {seen.format(x=v)} let {q} = {seen.format(x=w)} "
            v, w = p, q
        return f"{text}in {self.reader(v, w, a, b)}"

    def program(self):
        return None, None

    def definitions(self):
        return ""

    def text(self, _lines, _results):
        entries = []
        for name in ("main", "second", "third"):
            self.type_ = self.one_of(*TYPES)
            self.ranks[name] = self.type_, self.random.random() < 0.2
            t, cube = self.ranks[name]
            if cube:
                body = self.body("xs", "ys", True).replace("filter (\\x -> x > 20)", "map (+ 1)")
                entries.append(f"entry {name} [c] [n] [m] (xss: [c][n][m]{t}) (yss: [c][n][m]{t}) (k: i64) (o: i64) =\n  map2 (\\xs ys -> {body}) xss yss\n")
            else:
                entries.append(f"entry {name} [n] [m] (xss: [n][m]{t}) (yss: [n][m]{t}) (k: i64) (o: i64) =\n  {self.body('xss', 'yss', self.random.random() < 0.3)}\n")
        return "\n".join(entries)

    def matrix(self, t, *shape):
        if 0 in shape:
            return "empty(" + "".join(f"[{d}]" for d in shape) + t + ")"
        if not shape:
            return f"{self.random.randint(0 if t[0] == 'u' else -9, 40)}{t}"
        return "[" + ", ".join(self.matrix(t, *shape[1:]) for _ in range(shape[0])) + "]"

    def input(self, entry="main"):
        t, cube = self.ranks[entry]
        first = (self.one_of(0, 1, 2, 3, 17),) if cube else ()
        n, m = self.one_of(*SIZES), self.one_of(*SIZES)
        while n * m * (first or (1,))[0] > MOST:
            n, m = n // 2, m - m // 3
        return f"{self.matrix(t, *first, n, m)} {self.matrix(t, *first, n, m)} {self.one_of(1, 2, 3)}i64 {self.one_of(0, 1, 2, 5)}i64"
