"""What makes an array of any elements, for anything.py."""
from idioms.terms import bracketed, holds_arrays, text_of


class Arrays:
    def function(self, scope, types, result, size):
        names = [self.fresh("x") for _ in types]
        inner = scope.times(size)
        for name, t in zip(names, types):
            inner = inner.with_(name, t)
        params = " ".join(f"({name}: {text_of(t)})" for name, t in zip(names, types))
        return f"(\\{params} : {text_of(result)} -> {self.exp(inner, result)})"

    def source(self, scope, size):
        """An array to go through, rather one that there is."""
        found = [t for _, t in scope.vars if t[0] == "array" and t[1] == size]
        t = self.pick(found) if found and self.chance(0.8) else ("array", size, self.flat(1))
        return self.exp(scope, t), t[2]

    def mapped(self, scope, type_):
        size, of = type_[1:]
        if not scope.room(size):
            return None
        array, t = self.source(scope, size)
        return f"map {self.function(scope, [t], of, size)} {array}"

    def mapped2(self, scope, type_):
        size, of = type_[1:]
        if not scope.room(size):
            return None
        (a, t), (b, u) = self.source(scope, size), self.source(scope, size)
        if self.chance(0.3):
            return f"mapi {self.function(scope, [('i64',), t], of, size)} {a}"
        return f"map2 {self.function(scope, [t, u], of, size)} {a} {b}"

    def tabulated(self, scope, type_):
        size, of = type_[1:]
        if not scope.room(size):
            return None
        return f"tabulate {size} {self.function(scope, [('i64',)], of, size)}"

    def scanned(self, scope, type_):
        monoid = self.monoid(type_[2])
        if not monoid or not scope.room(type_[1]):
            return None
        return f"{self.pick(('scan', 'scan', 'scan', 'exscan'))} {monoid[0]} {monoid[1]} {self.exp(scope, type_)}"

    def moved(self, scope, type_):
        array = self.exp(scope, type_)
        return self.pick((f"reverse {array}", f"rotate {self.number(scope)} {array}", f"copy {array}",
                          f"by_turns {array} {self.exp(scope, type_)}", f"{array}[::-1] :> {text_of(type_)}"))

    def scattered(self, scope, type_):
        size, of = type_[1:]
        if not scope.room(size):
            return None
        other = self.size(scope)
        if not scope.room(other):
            return None
        i, k = self.fresh("i"), self.fresh("k")
        return (f"scatter (copy {self.exp(scope, type_)}) (let {k} = {self.number(scope)} % 4 in map (\\{i} -> {self.place(i, k, other)}) "
                f"(iota {other})) {self.exp(scope, ('array', other, of))}")

    def place(self, i, k, n):
        """A place for each i, no two the same."""
        return self.pick((f"{i} + {k}", f"2 * {i}", f"{n} - 1 - {i}", f"{i} - 2", f"if {i} % 2 == 0 then {i} else -1", f"{i} * 3 + {k}"))

    def counted(self, scope, type_):
        size, of = type_[1:]
        monoid, other = self.monoid(of, True), self.size(scope)
        if not monoid or not scope.room(other) or not scope.room(size):
            return None
        t = (self.pick(self.whole),)
        values = self.exp(scope, ("array", other, of))
        bins = f"(map (\\b -> {self.as_type('b', t, 'i64')} {self.pick(('%%', '%'))} {self.pick((f'(1 + {size})', '3', f'({size} / 2 + 1)'))}) {self.exp(scope, ('array', other, t))})"
        if self.chance(0.5):
            return f"hist {monoid[0]} {monoid[1]} {size} {bins} {values}"
        return f"reduce_by_index (copy {self.exp(scope, type_)}) {monoid[0]} {monoid[1]} {bins} {values}"

    def updated(self, scope, type_):
        size, of = type_[1:]
        u = self.fresh("u")
        value = f"(copy {self.exp(scope, of)})" if holds_arrays(of) else self.exp(scope, of)
        array, at = self.exp(scope, type_), self.number(scope)
        return f"let {u} = copy {array} in if {size} == 0 then {u} else {u} with [{at} % {size}] = {value}"

    def put(self, scope, type_):
        """A part of an array is another's."""
        u, h = self.fresh("u"), self.fresh("h")
        a, b = self.exp(scope, type_), self.exp(scope, type_)
        size = type_[1]
        return (f"let {h} = {size} / 2 let {u} = copy {a} in " +
                self.pick((f"{u} with [:{h}] = {b}[{size} - {h}:]", f"{u} with [{h}:] = {b}[{h}:]", f"{u} with [{size} - {h}:] = copy {u}[:{h}]")))

    def changed(self, scope, type_):
        """Changed element by element in a loop."""
        size, of = type_[1:]
        if not scope.room(size) or not scope.deeper():
            return None
        a, i, v = self.fresh("a"), self.fresh("i"), self.fresh("e")
        start = self.exp(scope, type_)
        count = self.pick((f"i64.min 3 {size}", size, f"i64.min {size} {self.few(scope)}"))
        inner = scope.with_(a, type_).with_(i, ("i64",)).times(size if count == size else "3")
        value = self.exp(inner, of)
        value = f"copy {value}" if holds_arrays(of) else value
        at = self.pick((i, i, f"{size} - 1 - {i}", f"{self.number(inner)} % {size}"))
        return f"loop ({a}: *{text_of(type_)}) = copy {start} for {i} < {count} do let {v} = {value} in {a} with [{at}] = {v}"

    def cut(self, scope, type_):
        a, k = self.fresh("a"), self.fresh("k")
        size = type_[1]
        return f"let {a} = {self.exp(scope, type_)} let {k} = {self.number(scope)} % ({size} + 1) in ({a}[{k}:] ++ {self.pick((a, self.exp(scope, type_)))}[:{k}]) :> {text_of(type_)}"

    def filtered(self, scope, type_):
        made = self.any_array(scope, type_[2])
        return made and f"fit {type_[1]} {self.leaf(scope, type_[2])} ({made[0]})"

    def partitioned(self, scope, type_):
        if not scope.room(type_[1]):
            return None
        x, a, b = self.fresh("x"), self.fresh("a"), self.fresh("b")
        inner = scope.with_(x, type_[2]).times(type_[1])
        return (f"let ({a}, {b}) = partition (\\({x}: {text_of(type_[2])}) -> {self.condition(inner)}) {self.exp(scope, type_)} "
                f"in ({b} ++ {a}) :> {text_of(type_)}")

    def turned(self, scope, type_):
        size, of = type_[1:]
        if of[0] != "array":
            return None
        other = ("array", of[1], ("array", size, of[2]))
        return self.pick((f"transpose {self.exp(scope, other)}", f"(unflatten (flatten {self.exp(scope, other)} :> [{size} * {of[1]}]{bracketed(of[2])})) :> {text_of(type_)}"))

    def unzipped(self, scope, type_):
        size, of = type_[1:]
        if not scope.room(size):
            return None
        t = self.flat(1)
        pair = self.pick((("tuple", of, t), ("tuple", t, of)))
        array, u = self.source(scope, size)
        return f"(unzip (map {self.function(scope, [u], pair, size)} {array})).{pair.index(of) - 1}"

    def strided(self, scope, type_):
        size, of = type_[1:]
        a = self.fresh("a")
        other = self.exp(scope, ("array", size, of))
        step = self.pick((2, 3))
        return (f"let {a} = {other} in fit {size} {self.leaf(scope, of)} " +
                self.pick((f"{a}[::{step}]", f"{a}[::-{step}]", f"({a}[{size} / 2:] ++ {a}[::{step}])", f"({a}[:{size} / 2:{step}])")))

    def grown(self, scope, type_):
        """An array that rounds make longer or shorter."""
        size, of = type_[1:]
        if not scope.deeper() or not scope.room(size):
            return None
        a, i, q, b = (self.fresh(s) for s in "aiqb")
        start = self.exp(scope, type_)
        inner = scope.with_(b, ("array", q, of)).with_(i, ("i64",)).with_(q, ("i64",)).sized(q, size).times("3")
        made = self.any_array(inner, of)
        if not made:
            return None
        return (f"let {a} = (loop ({a}: []{bracketed(of)}) = {start} for {i} < {self.few(scope)} do let {q} = length {a} "
                f"let {b} = {a} :> [{q}]{bracketed(of)} in {made[0]}) in fit {size} {self.leaf(scope, of)} {a}")
