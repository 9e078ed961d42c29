#!/usr/bin/env python3
"""Random programs of points with arrays that change their lengths: growing.py FLC [--count N] [--seed S] [--no-device]

Each point filters, joins, cuts and expands arrays, carries them through loops and through records with sums, and maps and
reduces over them again.  No index is outside, and numbers wrap.
"""
import sys

from as_tests import main
from choices import Choices

DEFINITIONS = """type item = #number i32 | #both i32 i64 | #nothing
type~ bag = {kind: #empty | #one i32 | #many | #marked {item: item, on: bool}, xs: []i32, items: []item}

def item (x: i32) : item = match x % 4 case 0 -> #nothing case 1 -> #number x case _ -> #both x (i64.i32 x)
def value (t: item) : i32 = match t case #number x -> x case #both x y -> x * 3 + i32.i64 y case #nothing -> 11
def at (xs: []i32) (i: i32) : i32 = let n = length xs in if n == 0 then 5 else xs[i64.i32 i % n]
def places (xs: []i32) (n: i64) = map (\\x -> i64.i32 x % (1 + n)) xs
def hash [n] (xs: [n]i32) : i32 = reduce (+) 0 (map2 (\\x i -> x * (2 * i32.i64 i + 1)) xs (iota n)) + i32.i64 n
def cut (xs: []i32) : []i32 = take (i64.min 12 (length xs)) xs
def weight (b: bag) : i32 =
  match b.kind
  case #empty -> 3
  case #one x -> x
  case #many -> hash b.xs
  case #marked m -> if m.on then hash b.xs - value m.item else hash (map value b.items)
"""

# Of an array q; none comes twice, as any of several could win.
PLACES = ("map (* 2) (indices q)", "map (\\i -> length q - i) (indices q)", "map (\\i -> if q[i] > 2 then i else -1) (indices q)")


class Names:
    """What is in scope: names of numbers, of arrays, of arrays of items, and of bags."""

    def __init__(self, numbers=(), arrays=(), items=(), bags=()):
        self.numbers, self.arrays, self.items, self.bags = numbers, arrays, items, bags

    def more(self, **names):
        """With more names, the last ones, which are taken more often."""
        old = vars(self)
        return Names(**{kind: (old[kind] + tuple(names.get(kind, ())) * 3)[-12:] for kind in old})


class Generator(Choices):
    """Texts are made when they are chosen: `any_of` takes functions."""

    def number(self, scope, depth=2):
        if depth == 0 or self.random.random() < 0.2:
            return self.random.choice(scope.numbers) if self.random.random() < 0.8 else str(self.random.randint(0, 9))

        def part():
            return self.number(scope, depth - 1)
        makers = [lambda: f"({part()} {self.one_of(*'+-*^&')} {part()})"] * 5
        makers += [lambda: f"({part()} % {self.random.randint(2, 7)})",
                   lambda: f"(if {self.condition(scope, depth - 1)} then {part()} else {part()})",
                   lambda: f"(at {self.random.choice(scope.arrays)} {part()})",
                   lambda: f"i32.i64 (length {self.random.choice(scope.arrays)})",
                   lambda: f"({self.one_of('hash', 'i32.sum', 'reduce i32.max 0')} {self.array(scope, depth - 1)})"] * 2
        makers += [lambda: f"(weight {self.random.choice(scope.bags)})"] * len(scope.bags[:3])
        makers += [lambda: f"(i32.sum (map value {self.random.choice(scope.items)}))"] * len(scope.items[:3])
        return f"({self.any_of(*makers)})"

    def condition(self, scope, depth=1):
        return f"({self.number(scope, depth)} {self.one_of('>', '<', '==', '!=')} {self.number(scope, depth)})"

    def array(self, scope, depth=2):
        if depth == 0:
            return self.random.choice(scope.arrays)
        kind = self.one_of(self.of_elements, self.of_elements, self.of_parts, self.of_places, self.of_loops, self.of_choices)
        return f"({kind(scope, lambda: self.array(scope, depth - 1))})"

    def of_elements(self, scope, part):
        x = self.fresh()
        inner = scope.more(numbers=(x,))

        def element():
            return self.number(inner)
        return self.any_of(
            lambda: f"map (\\{x} -> {element()}) {part()}",
            lambda: f"filter (\\{x} -> {self.condition(inner)}) {part()}",
            lambda: f"cut (flatten (map (\\{x} -> [{element()}, {x}]) {part()}))",
            lambda: f"map (\\i -> let {x} = i32.i64 i in {element()}) "
                    f"(iota (i64.i32 ({self.number(scope)} % {self.random.randint(2, 7)})))",
            lambda: f"let (q, p) = partition (\\{x} -> {self.condition(inner)}) {part()} in cut (p ++ q)",
            lambda: f"let q = {part()} in map (\\{x} -> {self.number(inner.more(arrays=('q',)))}) q",
            lambda: f"map (\\{x} -> hash (map (+ {x}) {part()})) {part()}")

    def of_parts(self, _scope, part):
        return self.any_of(
            lambda: f"cut ({part()} ++ {part()})", lambda: f"reverse {part()}",
            lambda: f"rotate ({self.random.randint(-2, 3)}) {part()}", lambda: f"let q = {part()} in take (length q / 2) q",
            lambda: f"let q = {part()} in drop (i64.min 1 (length q)) q",
            lambda: f"scan {self.one_of('(+) 0', 'i32.max i32.lowest', '(^) 0')} {part()}")

    def of_places(self, scope, part):
        x = self.fresh()
        return self.any_of(
            lambda: f"let q = {part()} in scatter (copy q) ({self.one_of(*PLACES)}) "
                    f"(map (\\{x} -> {self.number(scope.more(numbers=(x,)))}) q)",
            lambda: f"let q = {part()} in hist (+) 0 (1 + length q) (places q (length q)) q",
            lambda: f"let q = copy {part()} in loop q for i < length q do q with [i] = q[i] * 2 + "
                    f"(if i > 0 then q[i - 1] else {self.number(scope, 1)})")

    def of_loops(self, scope, part):
        carried, k = self.fresh(), self.fresh()
        body = self.array(scope.more(arrays=(carried,), numbers=(k,)), 1)
        return self.any_of(
            lambda: f"loop {carried} = {part()} for {k} < {self.number(scope)} % 4 do {body}",
            lambda: f"(.0) (loop ({carried}, {k}) = ({part()}, 0) while length {carried} > {self.random.randint(0, 2)} && "
                    f"{k} < {self.random.randint(2, 5)} do ({body}, {k} + 1))")

    def of_choices(self, scope, part):
        makers = [lambda: f"if {self.condition(scope)} then {part()} else {part()}"]
        if scope.items:
            makers.append(lambda: f"map value {self.random.choice(scope.items)}")
        if scope.bags:
            bag = self.random.choice(scope.bags)
            makers.append(lambda: f"match {bag}.kind case #empty -> {part()} case #one q -> [q, {self.number(scope)}] "
                                  f"case #many -> {bag}.xs case #marked p -> if p.on then {part()} else map value {bag}.items")
        return self.any_of(*makers)

    def new_bag(self, scope, xs=None):
        kind = self.any_of(
            lambda: "#empty", lambda: "#many", lambda: f"#one {self.number(scope, 1)}",
            lambda: f"#marked {{item = item {self.number(scope, 1)}, on = {self.condition(scope)}}}")
        return f"{{kind = {kind}, xs = {xs or self.array(scope, 1)}, items = map item {self.array(scope, 1)}}}"

    def bag(self, scope):
        made = [lambda: self.new_bag(scope), lambda: self.carried_bag(scope),
                lambda: f"if {self.condition(scope)} then {self.new_bag(scope)} else {self.new_bag(scope)}"]
        if scope.bags:
            made.append(lambda: self.matched_bag(scope, self.random.choice(scope.bags)))
        return self.any_of(*made)

    def carried_bag(self, scope):
        bag = self.fresh()
        own = scope.more(arrays=(f"({bag}.xs)",))
        return (f"loop {bag} : bag = {self.new_bag(scope)} for _k < {self.number(scope)} % 4 do match {bag}.kind "
                f"case #many -> {self.new_bag(own)} "
                f"case #marked _ -> {self.new_bag(scope, f'(cut ({bag}.xs ++ map value {bag}.items))')} "
                f"case _ -> {bag} with kind = {self.one_of('#many', '#empty', '#one 3')}")

    def matched_bag(self, scope, bag):
        return (f"match {bag}.kind case #empty -> {self.new_bag(scope)} "
                f"case #one first -> {self.new_bag(scope.more(numbers=('first',)))} case #many -> {bag} "
                f"case #marked p -> {bag} with kind = (if p.on then #many else #one (value p.item))")

    def statement(self, scope):
        """A line, the scope after it, and what its names stand for as a number."""
        v, w = self.fresh(), self.fresh()
        kind = self.one_of("array", "array", "array", "number", "items", "bag", "bag", "loop")
        if kind == "array":
            return f"let {v} = {self.array(scope, 3)}", scope.more(arrays=(v,)), f"hash {v}"
        if kind == "number":
            return f"let {v} = {self.number(scope, 3)}", scope.more(numbers=(v,)), v
        if kind == "items":
            return f"let {v} = map item {self.array(scope)}", scope.more(items=(v,)), f"hash (map value {v})"
        if kind == "bag":
            return f"let {v} : bag = {self.bag(scope)}", scope.more(bags=(v,)), f"weight {v}"
        within = scope.more(arrays=(v,), numbers=(w,))
        return (f"let ({v}, {w}) = loop ({v}, {w}) = ({self.array(scope, 1)}, {self.number(scope, 1)}) for _k < 3 do "
                f"({self.array(within)}, {self.number(within)})", within, f"hash {v} + {w}")


def program(r, _workers=None):
    made = Generator(r)
    scope = Names(numbers=("x", "x", "sum"), arrays=("ys", "ys", "above"))
    lines, results = [], []
    for _ in range(r.randint(2, 5)):
        line, scope, result = made.statement(scope)
        lines.append(f"    {line}")
        results.append(result)
    rows = r.random() < 0.3
    result = " + ".join(results)
    if rows:
        result = f"map (\\y -> {result} + {made.number(scope.more(numbers=('y',)))}) row"
    tests = [f"-- random input {{ [{n}]i8 [{n}][{m}]i8 }}" for n, m in ((1, 3), (r.randint(2, 7), r.randint(0, 6)))]
    return "\n".join([
        "-- Made by growing.py.", "-- ==", *tests, DEFINITIONS, "entry main [n] [m] (narrow: [n]i8) (rows: [n][m]i8) =",
        "  let xs = map i32.i8 narrow", "  let sum = i32.sum xs",
        "  let above : []i32 = cut (filter (> 2) (map i32.i8 (flatten rows)))",
        "  in map2 (\\x row ->", "    let row = map i32.i8 row", "    let ys = cut row", *lines,
        f"    in {result}) xs rows", ""])


if __name__ == "__main__":
    sys.exit(main(program))
