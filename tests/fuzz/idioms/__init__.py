"""Random programs out of what people write.

Numbers are of several types, and wrap; no generated expression can fail.  Arrays are wide enough
for vectors and blocks of CPUs.  A shape is a tuple of sizes: ("n",) or ("n", "m"); "s" is n * m.
Each statement of a program is of one of the families, a file each.
"""
from idioms.everyday import Everyday
from idioms.failing import Failing
from idioms.hosts import Hosts
from idioms.joined import Joined
from idioms.operators import Operators
from idioms.ragged import Ragged
from idioms.rounds import Rounds
from idioms.shapes import Shapes
from idioms.types import Types
from idioms.updates import Updates

FAMILIES = (Everyday, Updates, Operators, Shapes, Ragged, Hosts, Types, Joined, Rounds)


class IdiomGenerator(*FAMILIES):
    def statement(self):
        while True:
            family = self.pick(FAMILIES)
            statements = family.OF_MATRICES if self.chance(0.3) else family.STATEMENTS
            text, type_, shape = self.pick(statements)(self)
            if shape:
                return text, type_, shape


class FailingIdiomGenerator(Failing, IdiomGenerator):
    """Programs that may fail, and need all that they compute."""
    may_fail = True
