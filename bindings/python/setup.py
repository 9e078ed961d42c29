"""The package holds the compiler, an executable that contains the prelude and the runtime.

It is built with meson in a folder of its own, with static libraries where there are some, so that the wheel needs
little but the C library; or, if the variable FLC names one, that executable is taken.
"""
import os
import shutil
import subprocess
from pathlib import Path

from setuptools import setup
from setuptools.command.build_py import build_py
from setuptools.dist import Distribution

try:
    from setuptools.command.bdist_wheel import bdist_wheel
except ImportError:  # before setuptools 70
    from wheel.bdist_wheel import bdist_wheel

REPOSITORY = Path(__file__).resolve().parents[2]


def build_compiler(folder):
    """The path of a freshly built flc."""
    options = ["-Dprefer_static=true", "--buildtype=release"]
    if not (folder / "build.ninja").exists():
        subprocess.run(["meson", "setup", str(folder), str(REPOSITORY), *options], check=True)
    subprocess.run(["ninja", "-C", str(folder), "flc"], check=True)
    return folder / "flc"


class BuildWithCompiler(build_py):
    def run(self):
        super().run()
        given = os.environ.get("FLC")
        made = Path(given) if given else build_compiler(Path(self.get_finalized_command("build").build_temp).absolute())
        target = Path(self.build_lib) / "flc" / "bin" / "flc"
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(made, target)
        target.chmod(0o755)


class PlatformWheel(bdist_wheel):
    """For this kind of machine, for every Python 3."""

    def finalize_options(self):
        super().finalize_options()
        self.root_is_pure = False

    def get_tag(self):
        return "py3", "none", super().get_tag()[2]


class PlatformDistribution(Distribution):
    def has_ext_modules(self):
        return True


setup(distclass=PlatformDistribution, cmdclass={"build_py": BuildWithCompiler, "bdist_wheel": PlatformWheel})
