"""A Jupyter cell in Fl:

    %load_ext flc
    %%fl [NAME]
    entry main [n] (xs: [n]f32) : f32 = f32.sum xs

The module is then called NAME, or `fl`; a cell with a name can be imported by others.  Mistakes are shown under the cell.
"""
import keyword
import sys

from .errors import CompileError, Error


class CellError(CompileError):
    """A mistake in a cell, which is shown without the calls that led here.  As it is raised, no later cells run."""

    def _render_traceback_(self):
        return [str(self)]


def make_magic(shell):
    cells = {}  # the text of each cell with a name that was compiled, as it was last

    def fl(line, cell):
        """%%fl [NAME]: compiles the cell; the module is called NAME, or `fl`.

        Files of the current folder can be imported, and earlier cells by their names: import "NAME"."""
        from . import _from_text

        name = line.strip() or "fl"
        if not name.isidentifier() or keyword.iskeyword(name):
            raise CellError(f"%%fl: expected a name for the module, found {name}")
        try:
            module, warned = _from_text(cell, name, beside=cells)
        except Error as error:
            raise CellError(str(error)) from None
        if line.strip():
            cells[name] = cell
        if warned:
            print(warned, file=sys.stderr)
        shell.push({name: module})

    return fl


def load_ipython_extension(shell):
    """What `%load_ext flc` calls."""
    shell.register_magic_function(make_magic(shell), magic_kind="cell", magic_name="fl")
