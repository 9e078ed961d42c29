"""What generators of random programs have in common: choices, and names that nothing else has."""


class Choices:
    def __init__(self, r):
        self.random, self.names = r, 0

    def pick(self, items):
        return self.random.choice(list(items))

    def one_of(self, *items):
        return self.random.choice(items)

    def any_of(self, *makers):
        """Calls one of the functions."""
        return self.random.choice(makers)()

    def chance(self, part):
        return self.random.random() < part

    def fresh(self, stem="v"):
        self.names += 1
        return f"{stem}{self.names}"
