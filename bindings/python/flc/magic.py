"""A Jupyter cell in Fl:

    %load_ext flc
    %%fl [NAME]
    entry main [n] (xs: [n]f32) : f32 = f32.sum xs

The module is then called NAME, or `fl`; mistakes are shown under the cell.
"""
import sys

from .errors import Error


def make_magic(shell):
    def fl(line, cell):
        """%%fl [NAME]: compiles the cell; the module is called NAME, or `fl`."""
        from . import source

        name = line.strip() or "fl"
        if not name.isidentifier():
            print(f"%%fl: {name} is no name", file=sys.stderr)
            return
        try:
            shell.push({name: source(cell, name=name)})
        except Error as error:
            print(error, file=sys.stderr)

    return fl


def load_ipython_extension(shell):
    """What `%load_ext flc` calls."""
    shell.register_magic_function(make_magic(shell), magic_kind="cell", magic_name="fl")
