"""Types of any kind, how they are written, and the names and sizes that expressions may use."""
MOST = 20000  # points of a nest, about


def text_of(type_):
    kind = type_[0]
    if kind == "tuple":
        return "(" + ", ".join(map(text_of, type_[1:])) + ")"
    if kind == "record":
        return f"{{a: {text_of(type_[1])}, b: {text_of(type_[2])}}}"
    if kind == "option":
        return f"opt ({text_of(type_[1])})" if type_[1][0] != "tuple" else f"opt {text_of(type_[1])}"
    if kind == "either":
        return f"(#left {bracketed(type_[1])} | #right {bracketed(type_[2])})"
    if kind == "array":
        return f"[{type_[1]}]{bracketed(type_[2])}"
    return kind


def bracketed(type_):
    text = text_of(type_)
    return f"({text})" if type_[0] in ("option", "either") and not text.startswith("(#") else text


def holds_arrays(type_):
    return type_[0] == "array" or any(holds_arrays(t) for t in type_[1:] if isinstance(t, tuple))


class Scope:
    """Names with their types, sizes with about how large they are, and how often what stands here is done."""

    def __init__(self, sizes, names, repeated=1, depth=0):
        self.sizes, self.vars, self.repeated, self.depth = sizes, names, repeated, depth

    def with_(self, name, type_):
        return Scope(self.sizes, self.vars + [(name, type_)], self.repeated, self.depth)

    def sized(self, name, like):
        return Scope({**self.sizes, name: self.sizes[like]}, self.vars, self.repeated, self.depth)

    def times(self, size):
        return Scope(self.sizes, self.vars, self.repeated * self.sizes.get(size, 3), self.depth + 1)

    def room(self, size):
        return self.repeated * self.sizes.get(size, 3) <= MOST

    def deeper(self):
        return self.depth < 5
