"""`eval "$(python -m flc.shell)"`: what a shell exports so that executables of `flc build` find this package's loader and the
device from PyPI, where the system has none."""
import shlex

from . import opencl


def main():
    opencl.find_device()
    found = opencl.environment()
    for name in (*opencl.VARIABLES, "LD_LIBRARY_PATH"):
        if name in found:
            print(f"export {name}={shlex.quote(found[name])}")


if __name__ == "__main__":
    main()
