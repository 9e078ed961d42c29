"""What changing.py makes, at places where values meet: numbers are halves, and what is computed from them by
functions that are exact has many equal values, of which `max`, `min` and the like take one."""
from idioms.changing import ChangingGenerator
from idioms.words import array_text


class TiesGenerator(ChangingGenerator):
    widths = (1, 2, 3, 4, 5)

    def value(self, atoms, depth=2):
        if depth == 0 or self.chance(0.15):
            return self.pick(atoms) if self.chance(0.8) else self.pick(("0.5", "1", "0", "(-1)", "1.5"))
        a, b = self.value(atoms, depth - 1), self.value(atoms, depth - 1)
        least = f"(f64.minimum [{a}, {b}, {a} * {b}, 1])"
        greatest = f"(reduce f64.max (-f64.inf) (sized 4 [1, {a}, {b} * {b}, {b}]))"
        return self.pick((f"({a} + {b})", f"({a} - {b})", f"({a} * {b})", f"(f64.max {a} {b})", f"(f64.min {a} {b})", f"(f64.abs {a})",
                          f"(f64.max {a} 0.5)", f"(f64.max 1 {a})", f"(f64.min {a} ({b} * {b}))", f"({a} ** 2)", least, greatest,
                          f"(if {a} > {self.pick((0, 0.5, -0.5))} then {b} else {a} * 0.5)",
                          f"(if {a} == {b} then {b} else {a} * 0.5)", f"(f64.round {a} + {b})", f"(f64.sgn {a} * {b})"))

    def input(self):
        n, m = self.pick(self.widths), self.pick(self.widths[:4])
        half = lambda: str(self.random.choice((0.0, 0.5, -0.5, 1.0, -1.0)))
        any_number = lambda: f"{self.random.uniform(-1, 1):.3f}"
        point = lambda number: " ".join([number() + "f64", array_text((n,), "f64", number), array_text((n, m), "f64", number)])
        return " ".join([point(half), point(any_number), array_text((n,), "i64", lambda: self.random.randrange(n)),
                         array_text((n,), "i64", lambda: self.random.randint(-1, m)),
                         array_text((n,), "i32", lambda: self.random.randint(0, 9)), "1e-5f64"])
