"""Programs of idioms that may fail: indices that leave their arrays, divisors that may be 0, assertions.
Whether they do is what the interpreter says of the program as it is elaborated."""
from idioms.updates import Updates
from idioms.everyday import Everyday
from idioms.shapes import Shapes
from idioms.hosts import Hosts
from idioms.joined import Joined

# Statements all of whose elements are needed by those of their results.
STRICT = (Everyday.tabulated, Everyday.mapped, Everyday.picture, Everyday.table, Everyday.few, Everyday.windows,
          Everyday.tries, Everyday.records, Everyday.table_2d, Everyday.table_2d_in_place, Everyday.rows_to_numbers,
          Updates.element_rounds, Updates.slice_rounds, Updates.own_array, Updates.stack,
          Updates.row_rounds, Updates.rows_alone, Updates.knapsack, Updates.distances, Updates.scatter_rounds,
          Shapes.stepped, Shapes.joined_rows, Shapes.gathered_windows, Hosts.small_matrix,
          Joined.turned, Joined.own_rows, Joined.added_products, Joined.checked_numbers, Joined.checked_numbers)


class Failing:
    """Mixed in before the words."""
    RISK = 0.12

    def never(self):
        return self.pick((0, 1, 5, 77, 300))

    def place(self, i, n):
        if not self.chance(self.RISK):
            return super().place(i, n)
        c = self.pick((1, 2, 7))
        return self.pick((f"{i} + {c}", f"{i} - {c}", f"{i} * 2", f"({i} + {c}) % ({n} + 1)", f"{i} + i64.i32 k",
                          f"(if {i} > {c} then {i} else {i} + {n})", f"{i} * {i}", f"{n} - {i}"))

    def value(self, type_, atoms, depth=2):
        text = super().value(type_, atoms, depth)
        if type_[0] == "f" or not self.chance(self.RISK / 3):
            return text
        other = self.atom(type_, atoms)
        return self.pick((f"({text} {self.pick(('/', '%', '//'))} {other})", f"({text} / ({other} & 7))",
                          f"(assert ({self.comparison(atoms)} || {other} != 3) {text})",
                          f"({text} + ([{other}, 2, 3])[i64.{type_} ({other} & 3)])"))

    def statement(self):
        while True:
            text, type_, shape = self.pick(STRICT)(self)
            if shape:
                return text, type_, shape

    def number(self):
        text, type_, shape = self.statement()
        return f"reduce (^) 0 (map (\\x -> i64.{type_} x) {self.flattened(text, shape)})", "i64"

    def flattened(self, text, shape):
        return f"({text})" if len(shape) == 1 else f"(flatten ({text}))"

    def program(self):
        lets, _ = super().program()
        return lets, [(name, type_) for name, type_, _ in lets]
