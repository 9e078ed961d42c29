"""Records and tuples within each other, sum types and `match`, functions of any type and modules; whole
numbers of all widths and f16, with overflows, shifts and conversions."""
from idioms.words import Words, size

INTEGERS = ("i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64")
FLOATS = ("f16", "f32", "f64")

DEFINITIONS = """type option 'a = #some a | #none
type event = #start i32 | #move i64 u8 | #pause | #stop {code: i16, last: bool}
type pair 'a 'b = {first: a, second: b}
type nested = {at: (i32, i64), box: {low: i32, high: i32}, on: bool}

def swap 'a 'b (p: pair a b) : pair b a = {first = p.second, second = p.first}
def get 'a (other: a) (x: option a) : a = match x case #some v -> v case #none -> other
def map_option 'a 'b (f: a -> b) (x: option a) : option b = match x case #some v -> #some (f v) case #none -> #none
def keep 'a [n] (p: a -> bool) (ne: a) (xs: [n]a) : [n]a = map (\\x -> if p x then x else ne) xs
def both 'a 'b 'c [n] (f: a -> b) (g: a -> c) (xs: [n]a) : ([n]b, [n]c) = unzip (map (\\x -> (f x, g x)) xs)
def rows_of 'a 'b [n] [m] (f: [m]a -> b) (xss: [n][m]a) : [n]b = map f xss
def pairwise 'a [n] (op: a -> a -> a) (xs: [n]a) : [n]a = map (\\i -> op xs[i] xs[n - 1 - i]) (iota n)
def event (i: i64) (x: i32) : event =
  if x % 5 == 0 then #pause else if x % 5 == 1 then #start x
  else if x % 5 == 2 then #move i (u8.i32 x) else #stop {code = i16.i32 x, last = i % 3 == 0}
def score (e: event) : i32 =
  match e
  case #start 6 -> 100
  case #start x -> x
  case #move 0 _ -> -1
  case #move i b -> i32.i64 i * i32.u8 b
  case #pause -> 7
  case #stop {code, last = true} -> i32.i16 code
  case #stop {code = _, last = _} -> -2

module type monoid = { type t val zero : t val plus : t -> t -> t }
module type machine = { type s type i val first : s val step : s -> i -> s val value : s -> i32 }

module sums (M: monoid) = {
  def sum [n] (xs: [n]M.t) : M.t = reduce M.plus M.zero xs
  def prefixes [n] (xs: [n]M.t) : [n]M.t = scan M.plus M.zero xs
  def bins [n] (k: i64) (is: [n]i64) (xs: [n]M.t) : [k]M.t = hist M.plus M.zero k is xs
}
module product (A: monoid) (B: monoid) = {
  type t = (A.t, B.t)
  def zero : t = (A.zero, B.zero)
  def plus (a: t) (b: t) : t = (A.plus a.0 b.0, B.plus a.1 b.1)
}
module most = { type t = i32 def zero = i32.lowest def plus = i32.max }
module adding = { type t = i32 def zero = 0i32 def plus (a: t) (b: t) : t = a + b }
module parity = { type t = bool def zero = false def plus (a: t) (b: t) : t = a != b }
module most_and_sum = sums (product most (product adding parity))
module runs (M: machine) = {
  def run [n] (xs: [n]M.i) : i32 = M.value (loop s = M.first for x in xs do M.step s x)
  def all [n] [m] (xss: [n][m]M.i) : [n]i32 = map run xss
}
module toggle = runs {
  type s = {on: bool, count: i32, last: i32}
  type i = i32
  def first : s = {on = false, count = 0, last = 0}
  def step (s: s) (x: i32) : s = if x > s.last then s with on = !s.on with last = x else s with count = s.count + 1
  def value (s: s) : i32 = if s.on then s.count else s.last - s.count
}
module states = runs {
  type s = #idle | #run i32 | #done (i32, i32)
  type i = i32
  def first : s = #idle
  def step (s: s) (x: i32) : s =
    match s
    case #idle -> if x > 3 then #run x else #idle
    case #run y -> if x == y then #done (x, y) else #run (y - 1)
    case #done (a, b) -> if x % 4 == 0 then #idle else #done (b, a + x)
  def value (s: s) : i32 = match s case #idle -> -1 case #run x -> x case #done (a, b) -> a * 3 + b
}

"""


class Types(Words):
    def definitions(self):
        return DEFINITIONS

    def numbers(self, rank=1):
        """An array as i32."""
        name, type_, shape = self.array(rank=rank)
        convert = f"map i32.{type_}" if rank == 1 else f"map (map i32.{type_})"
        return name if type_ == "i32" else f"({convert} {name})", shape

    # ---- records and tuples

    def nested_records(self):
        xs, (dim,) = self.numbers()
        n = size(dim)
        fields = [("r.at.0", "i32"), ("r.at.1", "i64"), ("r.box.low", "i32"), ("r.box.high", "i32")]
        made = (f"map2 (\\x i -> {{at = (x, i), box = {{low = {self.value('i32', [('x', 'i32'), ('i', 'i64')], 1)}, high = x + 1}}, "
                f"on = x > 3}} : nested) {xs} (iota {n})")
        value = self.value("i32", fields, 2)
        step = self.pick(("r with box.low = r.box.high with on = !r.on", "r with at.0 = r.box.low + 1",
                          "if r.on then r with at = (r.box.high, 3) else r", "{at = (r.at.0, r.at.1 + 1), box = r.box, on = r.at.0 > 5}"))
        best = "(\\(a: nested) (b: nested) -> if a.box.low > b.box.low || a.box.low == b.box.low && a.at.1 < b.at.1 then a else b)"
        least = "({at = (0, i64.highest), box = {low = i32.lowest, high = 0}, on = false} : nested)"
        return self.pick((
            f"(let rs = {made} in map (\\(r: nested) -> {value}) (map (\\(r: nested) -> {step}) rs))",
            f"(let rs = loop rs = {made} for _t < 3 do map (\\(r: nested) -> {step}) rs in map (\\(r: nested) -> {value}) rs)",
            f"(let rs = scan {best} {least} ({made}) in map (\\(r: nested) -> if r.at.1 == i64.highest then 1 else {value}) rs)",
            f"(let r = reduce {best} {least} ({made}) in map (+ (if r.on then {value} else 2)) {xs})",
            f"(let rs = filter (\\(r: nested) -> r.on) ({made}) in tabulate {n} (\\i -> if i < length rs then let r = rs[i] in {value} else 8))",
            f"(let rs = copy ({made}) in map (\\(r: nested) -> {value}) (loop rs for i < {n} do rs with [i].box.low = "
            f"rs[{self.place('i', n)}].at.0 with [i].on = false))",
            f"(let rs = scatter ({made}) (map (\\i -> i * 2) (iota {n})) (replicate {n} ({{at = (1, 2), box = {{low = 3, high = 4}}, "
            f"on = true}} : nested)) in map (\\(r: nested) -> {value}) rs)",
            f"map (\\(r: nested) -> let r = (loop r for t < 3 do {step}) in {value}) ({made})")), "i32", (dim,)

    def events(self):
        xs, (dim,) = self.numbers()
        n = size(dim)
        made = f"(map2 event (iota {n}) {xs})"
        walk = ("match e case #start x -> (s + x, true) case #move i b -> (if on then s + i32.i64 i else s - i32.u8 b, on) "
                "case #pause -> (s, false) case #stop {code, last} -> (if last then 0 else s ^ i32.i16 code, on != last)")
        turn = ("match e case #start x -> if x > 9 then #pause else (#move 3 (u8.i32 x) : event) case #move _ b -> #start (i32.u8 b) "
                "case #pause -> #stop {code = 3, last = true} case #stop {code, last} -> if last then #start (i32.i16 code) else e")
        return self.pick((
            f"map score {made}", f"(let es = {made} in map score (map (\\e -> {turn}) es))",
            f"map score (loop es = {made} for _t < 3 do map (\\e -> {turn}) es)",
            f"tabulate {n} (\\i -> (loop (s, on) = (0, false) for e in {made}[i - i % 4:i] do {walk}).0)" if n != "(n * m)" else
            f"map score {made}",
            f"(let es = {made} in tabulate {n} (\\i -> (loop (s, on, j) = (0i32, false, i) while j < {n} && j < i + 9 && !(match es[j] "
            f"case #pause -> on case _ -> false) do let e = es[j] let (s, on) = {walk} in (s, on, j + 1)).0))",
            f"(let es = filter (\\e -> match e case #pause -> false case #start x -> x > 2 case _ -> true) {made} in "
            f"tabulate {n} (\\i -> if i < length es then score es[i] else 4))",
            f"(let es = copy {made} in map score (loop es for i < {n} do es with [i] = es[{self.place('i', n)}]))",
            f"map (\\x -> get 3 (map_option (\\y -> y * 2) (if x > 2 then #some x else #none))) {xs}",
            f"map (\\o -> match o case #some (#start x) -> x case #some e -> score e + 1 case #none -> 5) "
            f"(map (\\e -> match e case #pause -> (#none : option event) case _ -> #some e) {made})")), "i32", (dim,)

    def polymorphic(self):
        xs, (dim,) = self.numbers()
        name, type_, _ = self.array(shape=(dim,))
        n = size(dim)
        f, g = self.value("i32", [("x", "i32")], 2), self.value("i64", [("x", "i32")], 2)
        return self.pick((
            f"(let (a, b) = both (\\x -> {f}) (\\x -> {g}) {xs} in map2 (\\x y -> x + i32.i64 y) a b)",
            f"(let (a, b) = both (\\x -> (x, x > 2)) (\\x -> {{first = x, second = {g}}}) {xs} in "
            f"map2 (\\(x, y) p -> if y then x else i32.i64 (swap p).first) a b)",
            f"keep (\\x -> x > 2) 9 (pairwise (\\x y -> x - y) {xs})",
            f"map (.0) (pairwise (\\(a, b) (c, d) -> (a + c, b || d)) (map (\\x -> (x, x > 3)) {xs}))",
            f"(let add = \\x y -> x + y let twice = \\h -> h >-> h in map (twice (add 3)) {xs} |> map (\\x -> {f}))",
            f"map (\\p -> i32.{type_} (swap p).first + p.first) (map2 (\\x y -> {{first = x, second = y}}) {xs} {name})",
            f"(let (a, b) = most_and_sum.sum (map (\\x -> (x, (x + 1, x > 4))) {xs}) in map (\\x -> if b.1 then x - a else x + b.0) {xs})",
            f"map (\\(a, (b, c)) -> if c then a else b) (most_and_sum.prefixes (map (\\x -> (x, (x + 1, x > 4))) {xs}))",
            f"map (\\(a, (b, c)) -> if c then a else b) (most_and_sum.bins {n} (map (\\x -> i64.i32 x % (1 + {n})) {xs}) "
            f"(map (\\x -> (x, (x + 1, x > 4))) {xs}))",
            f"tabulate {n} (\\i -> states.run {xs}[i - i % 7:i])" if xs[0] != "(" else f"replicate {n} (states.run {xs})")), "i32", (dim,)

    def machines(self):
        xss, (first, second) = self.numbers(rank=2)
        return self.pick((f"toggle.all {xss}", f"states.all {xss}", f"rows_of toggle.run {xss}",
                          f"rows_of (\\r -> states.run r + toggle.run (pairwise (\\x y -> x ^ y) r)) {xss}",
                          f"rows_of (\\r -> (most_and_sum.sum (map (\\x -> (x, (x, x > 1))) r)).0) {xss}",
                          f"rows_of (\\r -> i32.sum (map score (map2 event (indices r) r))) {xss}",
                          f"map (\\r -> (loop (e, s) = ((#pause : event), 0i32) for x in r do (event (i64.i32 s) (x + score e), s + score e)).1) "
                          f"{xss}")), "i32", (first,)

    # ---- numbers

    def widths(self):
        """Chains of conversions and operations of many types, in a point."""
        dim, last = self.dim(), self.pick(INTEGERS)
        lets, atoms = "", self.atoms("i", dim)
        for _ in range(self.random.randint(2, 5)):
            type_ = self.pick(INTEGERS + ("f16",))
            name = self.fresh("c")
            lets += f"let {name} = {self.conversion(type_, atoms)} "
            atoms = atoms + [(name, type_)] * 2
        return f"tabulate {size(dim)} (\\i -> {lets}in {self.conversion(last, atoms)})", \
            last, (dim,)

    def conversion(self, type_, atoms):
        text, of = self.pick(atoms)
        if type_ == "f16":
            return f"f16.{self.pick(('min', 'max'))} (f16.{of} {text}) {self.pick(('3.5', '(-2)', '100'))}"
        bits = int(type_[1:])
        value, by = self.value(type_, atoms, 2), self.random.randrange(bits + 2)
        if by >= bits:
            by = f"({type_}.i64 (i & {bits - 1}))"
        return self.pick((value, value, f"(({value}) {self.pick(('<<', '>>', '>>'))} {by})", f"({type_}.i32 ({type_}.popc {value}))", f"({type_}.i32 ({type_}.clz {value} + {type_}.ctz {value}))",
                          f"({type_}.mul_hi {value} {value})",
                          f"({type_}.abs {value})" if type_[0] == "i" else f"({type_}.not {value})", f"({type_}.sgn {value} * {value})",
                          f"({type_}.{of} {text} {self.pick(('/', '%', '//', '%%'))} {type_}.max 1 {value})",
                          f"({type_}.highest - {value})", f"({type_}.lowest + {value} * {value})"))

    def halves(self):
        """f16 in arrays: exact operations only, or those that round once."""
        xs, (dim,) = self.numbers()
        n = size(dim)
        made = f"(map (\\x -> f16.i32 (x & 63) / 4) {xs})"
        near = self.place("i", n)
        return self.pick((
            f"(let hs = {made} in tabulate {n} (\\i -> i32.f16 (hs[i] + hs[{near}] * 2)))",
            f"map i32.f16 (scan f16.max (-f16.inf) {made}) |> map (i32.max 0)", f"map (\\h -> if h > 3.25 then i32.f16 (h - 1) else 2) {made}",
            f"(let hs = {made} in map i32.f16 (loop hs for _t < 3 do tabulate {n} (\\i -> f16.max hs[i] (hs[{near}] - 1))))",
            f"(let hs = {made} in map i32.f16 (reduce_by_index (replicate {n} 0f16) f16.max 0 (map (\\h -> i64.f16 h) hs) hs))",
            f"(let hs = copy {made} in map i32.f16 (loop hs for i in 1..<i64.max 1 {n} do hs with [i] = f16.min (hs[i - 1] + 1) hs[i]))",
            f"(let hs = filter (\\h -> h > 4) {made} in tabulate {n} (\\i -> if i < length hs then i32.f16 (hs[i] * 4) else 1))",
            f"(let hs = {made} in map (\\h -> i32.u16 (f16.to_bits h)) (map2 (\\h g -> if h < g then h else f16.from_bits (f16.to_bits g & 0x7fff)) "
            f"hs (reverse hs)))")), "i32", (dim,)

    STATEMENTS = (nested_records, nested_records, events, events, polymorphic, polymorphic, widths, widths, widths, halves)
    OF_MATRICES = (machines, machines, widths)
