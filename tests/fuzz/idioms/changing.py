"""Smooth functions whose arrays change in place while loops run, with operators of rows and tuples, and with
derivatives, sums and powers within."""
from idioms.smooth import SmoothGenerator

SUMS = "#big f64 | #pair (f64, f64) | #rows [3]f64 | #none"


class ChangingGenerator(SmoothGenerator):
    def places(self, n):
        return self.pick(("is", "(map (\\i -> (i * 2) % n) (iota n))", "(map (\\t -> i64.i32 t % n) ts)")) if n == "n" else \
            f"(map (\\j -> (j * 2 + 1) % {n}) (iota {n}))"

    def added(self):
        """Places of an array to which loops add, some of them twice."""
        n = self.pick("nnm")
        v, is_ = self.vector(n), self.places(n)
        y = self.value([f"{v}[i]", "x", "a[q]", f"a[{n} - 1 - i]"], 2)
        return self.pick((
            f"(let is = {is_} in loop a = copy {v} for i < {n} do let q = is[i] in a with [q] = a[q] * 0.5 + {y})",
            f"(let is = {is_} in (loop (a, s) = (copy {v}, 0.1) for i < {n} do let q = is[i] let s = s + f64.sin a[q] in (a with [q] = s, s)).0)",
            f"(let is = {is_} in loop a = copy {v} for i < {n} do let q = is[i] in if a[q] > x then a with [q] = {y} * 0.3 else a)",
            f"(let is = {is_} in loop a = copy {v} for t < 2i64 do loop a for i < {n} do let q = is[i] in "
            f"if q == i then a else (let b = a[q] let a = a with [q] = f64.sin a[i] in a with [i] = b * 0.7 + a[q]))")), n

    def swept(self):
        """Rounds over a state of several arrays, one of which is consumed, or exchanged."""
        n = self.pick("nnm")
        v, w = self.vector(n), self.vector(n)
        y = self.value(["a[i]", "b[i]", f"b[(i + 1) % {n}]", "x"], 2)
        return self.pick((
            f"(loop (a, b) = (copy {v}, copy {w}) for i < {n} do let p = {y} * 0.5 let q = b[i] in (b with [i] = p, a with [{n} - 1 - i] = q)).0",
            f"(loop (a, b) = (copy {v}, {w}) for i < {n} do (a with [i] = {y} * 0.5, map (* 0.9) b)).{self.pick((0, 1))}",
            f"(loop (a, b) = ({v}, {w}) for _t < 3i64 do (map2 (\\p q -> p * 0.5 + f64.sin q) a b, scan (+) 0 (map (* 0.2) a))).{self.pick((0, 1))}",
            f"(loop a = copy {v} for t < 3i64 do let c = (t * 2) % {n} in a with [c:] = reverse (map (\\y -> y * x + 0.1) a[c:]))",
            f"(loop a = copy {v} for k < {n} do let p = a[k] in a with [k:] = map2 (\\y z -> y - 0.2 * p * z) a[k:] {w}[k:])",
            f"(let c = (loop c = replicate 4 {v} for t < 3i64 do c with [t + 1] = map2 (\\p q -> f64.sin p + 0.3 * q) c[t] {w}) in c[3])",
            f"(let (a, _) = loop (a, t) = (copy {v}, 0i64) while t < {n} && a[t] < 3 do (a with [t] = a[t] * 0.5 + f64.cos a[{n} - 1 - t], t + 1) in a)",
            f"(loop a = {v} for _t < 2i64 do (flatten (transpose (tabulate_2d 2 {n} (\\i j -> f64.sin a[j] * f64.i64 (i + 1)))))[:{n}])",
        )), n

    def own_arrays(self):
        """Arrays of each point's own, changed in rounds of its own."""
        v = self.vector("n")
        y = self.value(["w[0]", f"{v}[i]", "x", "w[q % 3]"], 2)
        rounds = self.pick(("3", "i64.i32 (ts[i] % 4)", "i % 3"))
        return self.pick((
            f"tabulate n (\\i -> let w = loop w = replicate 3 {v}[i] for q < {rounds} do w with [q % 3] = {y} * 0.5 in w[0] + w[1] * w[2])",
            f"tabulate n (\\i -> (loop (w, q) = ([x, {v}[i], 0.5], 0i64) while q < {rounds} do (w with [(q + 1) % 3] = f64.sin ({y}), q + 1)).0[1])",
            f"tabulate n (\\i -> let w = hist (+) 0 3 (map (% 3) is) (map (* {v}[i]) {self.vector('n')}) in w[i % 3] * w[0])",
            f"tabulate n (\\i -> let w = scatter (replicate 3 x) [i % 3, (i + 1) % 3] [{v}[i], f64.sin {v}[i]] in w[0] * w[1] - w[2])",
            f"map2 (\\r i -> let r = copy r with [i % m] = {v}[i] in f64.sum (map (* 0.2) (scan (+) 0 r))) {self.matrix()} (iota n)",
            f"map2 (\\r i -> let r = loop r = copy r for j < m do if j % 2 == i % 2 then r with [j] = r[m - 1 - j] * x else r in f64.sum r) {self.matrix()} (iota n)",
        )), "n"

    def tuples(self):
        """Scans and reductions whose elements are tuples and rows."""
        n = self.pick("nnm")
        v, w = self.vector(n), self.vector(n)
        one = f"(map (\\y -> 1 + 0.2 * f64.sin y) {v})"
        return self.pick((
            f"map (.2) (scan (\\(a, b, c) (d, e, f) -> (a * d, b * d + e, c + a * f)) (1, 0, 0) (zip3 {one} {w} {v}))",
            f"map (\\(a, b) -> a + b) (scan (\\(a, i) (b, j) -> if a > b then (a, i) else (b, j)) (f64.lowest, 0) (zip {v} {w}))",
            f"map (\\q -> q.a - q.b) (scan (\\p q -> {{a = p.a + q.a, b = f64.max p.b q.b}}) {{a = 0, b = f64.lowest}} (map2 (\\y z -> {{a = y, b = z}}) {v} {w}))",
            f"(let (p, q) = reduce (\\(a, b) (c, d) -> (a * d + c, b * d)) (0, 1) (zip {w} {one}) in map (\\y -> y * p - q) {v})",
            f"map f64.sum (scan (map2 (*)) (replicate 3 1) (map (\\y -> [1, 1 + 0.1 * y, f64.cos y]) {v}))",
            f"map (\\r -> r[0] * r[1]) (scan (map2 f64.min) (replicate 2 f64.highest) (map2 (\\y z -> [y, z * y]) {v} {w}))",
            f"(let r = reduce (map2 f64.max) (replicate 3 f64.lowest) (map2 (\\y z -> [y, z, y * z]) {v} {w}) in map (\\y -> y * r[0] - r[1] * r[2]) {v})",
            f"map f64.sum (map (\\y -> scan (*) 1 (map (\\z -> 1 + 0.1 * y * z) {w})) {v})",
            f"(let (a, b) = unzip (map (\\y -> (f64.sin y, y * y)) {v}) in map2 (*) (scan (+) 0 (map (* 0.2) a)) (rotate 1 b))",
        )), n

    def counted(self):
        """Histograms with other operators, of rows and in two dimensions; scatters of rows."""
        v, a = self.vector("n"), self.matrix()
        bins = self.pick(("js", "is", "(map (\\t -> i64.i32 t % m) ts)"))
        return self.pick((
            f"hist (\\a b -> a + b + 0.3 * a * b) 0 m {bins} (map f64.sin {v})",
            f"map (\\(a, b) -> a * 0.3 - b) (hist (\\(a, b) (c, d) -> (a + c, b + d)) (0, 0) m {bins} (zip {v} (map f64.sin {v})))",
            f"map f64.sum (hist (map2 (+)) (replicate m 0) m {bins} {a})",
            f"map (f64.sum <-< map f64.tanh) (reduce_by_index (replicate m (replicate m 0.1)) (map2 (+)) (replicate m 0) {bins} {a})",
            f"map f64.sum (reduce_by_index_2d (replicate m (replicate 3 x)) (+) 0 (zip {bins} (map (% 3) is)) {v})",
            f"map f64.sum (scatter (replicate m (replicate m x)) (map (\\i -> i * 2) (iota n)) {a})",
            f"map f64.sum (scatter_2d (replicate m (replicate 2 x)) (map (\\i -> (i / 2, i % 2)) (iota n)) (map f64.sin {v}))",
            f"(let at = map (\\i -> i / 2) (iota n) in scatter (map (* x) (replicate m 0.5)) at (map (\\i -> f64.sin {v}[i] * x) at))",
            f"(let at = map2 (\\i j -> if j < 0 then j else i % m) is js in scatter (replicate m x) at (map (\\i -> if i < 0 then 1 else f64.cos {v}[i % n]) at))",
            f"map2 (+) (hist (*) 1 m {bins} (map (\\y -> 1 + 0.2 * f64.cos y) {v})) (hist (+) 0 m {bins} {v})",
        )), "m"

    def inner(self):
        """Derivatives, sums, powers and logarithms within."""
        n = self.pick("nnm")
        v, w = self.vector(n), self.vector(n)
        y = self.value(["y", "x", "(y * y)"], 2)
        return self.pick((
            f"map (\\y -> vjp (\\y -> {y} * f64.sin y) y 1) {v}", f"map (\\y -> jvp (\\y -> {y} + y * y) y 0.5) {v}",
            f"vjp (\\q -> f64.sum (map2 (\\a b -> f64.sin (a * b)) q {w})) {v} 1", f"jvp (\\q -> map2 (\\a b -> a * a * b) q {w}) {v} {w}",
            f"map (\\y -> (1 + y * y) ** {self.pick(('x', '(0.5 * y)', '2', '(-1.5)', '0', '1'))}) {v}",
            f"map (\\y -> f64.log (1 + y * y) * f64.exp (-y) + f64.log1p (y * y) - f64.expm1 (0.1 * y)) {v}",
            f"map (\\y -> f64.atan2 (1.5 + y * y) (2 + f64.sin y) + f64.hypot y 1.2) {v}",
            f"map (\\y -> f64.sqrt (y * y + 0.1) / f64.cosh y + f64.fma y x 0.5 + f64.lerp y x 0.3) {v}",
            f"map2 (\\y z -> match (if y > 0.3 then #big y else if z > 0.2 then #pair (y, z) else if z < -0.5 then #rows [y, z, x] else #none : {SUMS}) "
            f"case #big a -> a * a case #pair (a, b) -> a * f64.sin b case #rows r -> f64.sum (map f64.cos r) case #none -> x) {v} {w}",
            f"(let g = \\a b -> a * f64.sin b + x in map2 (\\y z -> g (g y z) (g z y)) {v} {w})",
            f"map (\\y -> y ** 3 - x ** 2 * y + f64.max (y ** 2) (x ** 2)) {v}",
        )), n

    def changed_matrix(self):
        a, v, w = self.matrix(), self.vector("n"), self.vector("m")
        return self.pick((
            f"(loop a = copy {a} for j < m do a with [:, j] = map2 (\\y z -> y * 0.5 + f64.sin z) a[:, m - 1 - j] {v})",
            f"(loop a = copy {a} for i < n do loop a for j < m do a with [i, j] = a[i, j] * 0.5 + f64.sin a[n - 1 - i, (j + 1) % m])",
            f"(loop a = copy {a} for i < n do let r = map2 (*) a[is[i]] {w} in a with [i] = map2 (\\y z -> 0.3 * y + z) r a[i])",
            f"transpose (map (scan (\\a b -> a + b + 0.1 * a * b) 0) (map (map (* 0.3)) (transpose {a})))",
            f"(let (a, _) = loop (a, b) = (copy {a}, {v}) for i < n do "
            f"let c = map2 (\\y r -> y * 0.5 + f64.sum (map (* 0.1) r)) b a in (a with [i] = map (* b[i]) {w}, c) in a)",
            f"scan (map2 f64.max) (replicate m f64.lowest) {a}",
            f"(loop a = {a} for _t < 2i64 do map (map (* 0.5)) (unflatten (reverse (flatten a) :> [n * m]f64)))",
            f"map2 (\\r i -> loop r = copy r for q < i % 3 do let c = q % m in r with [c:] = map (\\y -> f64.sin y + r[c]) r[c:]) {a} (iota n)",
        ))

    VECTORS = SmoothGenerator.VECTORS + 2 * (added, swept, own_arrays, tuples, counted, inner)
    MATRICES = SmoothGenerator.MATRICES + (changed_matrix, changed_matrix)
