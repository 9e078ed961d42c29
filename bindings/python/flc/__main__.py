"""`flc` and `python -m flc`: the compiler that came with this package, with its headers, loader and device."""
import os
import sys

from . import build, opencl
from .errors import Error


def main():
    opencl.find_device()
    try:
        program = build.compiler()
    except Error as error:
        sys.exit(f"error: {error}")
    os.execve(program, [program, *sys.argv[1:]], opencl.environment())


if __name__ == "__main__":
    main()
