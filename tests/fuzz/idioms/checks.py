"""What may fail, of every kind, in every place: indices, slices, divisors, powers, sizes and assertions in functions
of maps, reductions, scans, histograms, scatters and filters, in conditions and in loops.  All results need it."""
import random

# Of a number X; k and the elements of ys are numbers, too.
MAY_FAIL = ("ys[X]", "(X / k)", "(X % k)", "(assert (X < 4) X)", "(i64.sum ys[X:X + 2])", "(i64.sum (replicate X 1))", "(i64.sum (iota X))",
            "(2 ** X)", "ys[ys[X] % 5]", "(if X == 3 && ys[X + k] > 0 then 1 else X)", "(if ys[X] > 100 || X > k then 7 else X)",
            "(i64.sum (sized 2 (take X ys)))", "(let (a, b) = split (ys[:X] :> [2 + (X - 2)]i64) in a[0] + i64.sum b)", "(X // k + ys[0])",
            "((copy ys with [X] = 4)[0])", "(last ys[:X])", "(head ys[X:])", "(i64.sum (scan (+) 0 ys[X:m:2]))",
            "(let zs = copy ys let zs = zs with [X:] = ys[X:] in i64.sum zs)", "(match X case 1 -> ys[X + k] case 2 -> X / k case _ -> X)",
            "(assert (ys[X] != 3) X * 2)", "(loop s = 0 for j < X do s + ys[j])", "(loop (s, j) = (0, X) while j < 6 do (s + ys[j], j + 2)).0",
            "(unflatten (ys[:X] :> [2 * 2]i64))[0, 0]", "(i64.sum (tabulate 2 (\\q -> ys[X + q])))",
            "(reduce i64.max 0 (map (\\q -> ys[q]) (iota X)))", "(let f = filter (> k) ys in f[X])",
            "(i64.sum (map (\\q -> X / q) ys))", "(i64.i32 (i32.i64 X / i32.i64 k))", "(X / k > 1 || true |> i64.bool)",
            "(if ys[X] > 2 && false then 3 else X)")
JOINED = ("({} + {})", "(if X > 1 then {} else {})", "(i64.max {} {})", "({} - {})", "(if {} > {} then X else k)",
          "(if X < 3 && {} > {} then 1 else 2)", "(let z = {} in z + {})", "(let z = {} in z + {} - z)",
          "(let z = {} in (z + {}) * k - z * k)")
# Texts with the number of which something is made in brackets.
PLACES = (
    "map (\\x -> «x») xs", "tabulate n (\\i -> «xs[i]» + i)", "map (\\x -> i64.sum (map (\\y -> y + «x») ys)) xs",
    "map (\\x -> i64.sum (map (\\y -> «y» + x) ys)) xs", "[i64.sum (map (\\x -> «x») xs)]", "scan (+) 0 (map (\\x -> «x») xs)",
    "filter (\\x -> «x» > 2) xs", "[length (filter (\\x -> «x» > 2) xs)]", "[loop s = 0 for x in xs do s + «x»]",
    "loop a = copy xs for i < n do a with [i] = «a[i]» + a[0]", "hist (+) 0 4 (map (\\x -> «x») xs) xs",
    "hist (+) 0 4 xs (map (\\x -> «x») xs)", "scatter (replicate n 0) (indices xs) (map (\\x -> «x») xs)",
    "scatter (replicate n 0) (map2 (\\x i -> (if «x» > 1000 then -1 else i)) xs (iota n)) xs",
    "[(loop (s, i) = (0, 0) while i < n && «xs[i]» < 50 do (s + xs[i], i + 1)).0]",
    "map (\\x -> loop s = 0 for j < i64.max 0 x do s + «(x - j)») xs",
    "flatten (tabulate_2d n m (\\i j -> «xs[i]» + «ys[j]»))", "if «k» > 1 then map (+ 1) xs else map (\\x -> «x») xs",
    "map (\\x -> reduce (+) 0 (map (\\y -> «x» + y) (iota (i64.max 0 x)))) xs",
    "[reduce (\\a b -> assert (b != 60) (a + b)) 0 (map (\\x -> «x» % 7) xs)]", "loop a = xs for _t < 2i32 do map (\\x -> «x») a",
    "let a = map (\\x -> «x») xs in map2 (\\p q -> p + q) a (reverse a)",
    "map (\\x -> let w = loop w = [x, 0, 1] for j < 3 do w with [j] = «x» + w[0] in i64.sum w) xs",
    "let a = map (\\x -> (x, «x»)) xs in map (\\(p, q) -> p - q) (rotate 1 a)",
    "[i64.maximum (map (\\x -> «x») xs), i64.sum (map (\\x -> «x») xs)]",
    "map (\\x -> length (filter (> 0) (map (\\y -> «x» - y) ys))) xs")


class CheckGenerator:
    expected = None
    may_fail = True

    def __init__(self, seed):
        self.random = random.Random(seed)

    def mistake(self, number):
        pick = self.random.choice
        text = pick(MAY_FAIL)
        if self.random.random() < 0.3:
            text = pick(JOINED).format(text, pick(MAY_FAIL + ("X",)))
        return text.replace("X", number)

    def program(self):
        first, *rest = self.random.choice(PLACES).split("«")
        for part in rest:
            number, end = part.split("»", 1)
            first += self.mistake(number) + end
        return first, None

    def text(self, body, _results):
        return f"entry main [n] [m] (k: i64) (xs: [n]i64) (ys: [m]i64) =\n  {body}\n"

    def definitions(self):
        return ""

    def numbers(self, count, low, high):
        return "[" + ", ".join(f"{self.random.randint(low, high)}i64" for _ in range(count)) + "]" if count else "empty([0]i64)"

    def input(self):
        pick = self.random.choice
        xs = self.numbers(pick((0, 1, 3, 4, 20)), *pick(((0, 3), (0, 4), (1, 2), (-1, 4), (0, 6), (2, 2))))
        return f"{pick((0, 1, 2, 3, -1))}i64 {xs} {self.numbers(5, *pick(((0, 3), (1, 3), (0, 4), (-1, 5))))}"
