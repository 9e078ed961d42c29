"""The package holds the compiler, an executable that contains the prelude and the runtime, and the headers and the loader
of OpenCL, for systems without.

It is built with meson in a folder of its own, with static libraries where there are some, so that the wheel needs
little but the C library; or, if the variable FLC names one, that executable is taken.  Where this folder was installed
without the compiler's sources, the flc that is installed is taken.
"""
import os
import re
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

# The compiler's sources, or, where this folder was copied elsewhere, any folder above it.
REPOSITORY = Path(__file__).resolve().parent / ".." / ".."

# What flc links programs with, compiled; without them it compiles them when they are first needed.
RUNTIMES = ("flc-runtime.o", "flc-runtime-threads.o")


def build_compiler(folder):
    """The path of a freshly built flc."""
    options = ["-Dprefer_static=true", "-Dline_editing=disabled", "-Dmarkdown=disabled", "--buildtype=release"]
    if not (folder / "build.ninja").exists():
        subprocess.run(["meson", "setup", str(folder), str(REPOSITORY), *options], check=True)
    subprocess.run(["ninja", "-C", str(folder), "flc", *RUNTIMES], check=True)
    return folder / "flc"


def find_compiler(folder):
    given = os.environ.get("FLC")
    if not given and not (REPOSITORY / "compiler").exists():
        given = shutil.which("flc")
        if not given:
            raise SystemExit("flc: the compiler is not installed, and its sources are not here")
    return Path(given) if given else build_compiler(folder)


def copy(source, target):
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(source, target)


def opencl_loader():
    """The path of the system's loader, or None."""
    listed = subprocess.run(["/sbin/ldconfig", "-p"], capture_output=True, text=True, check=False).stdout
    found = re.search(r"libOpenCL\.so\.1 .*=> (\S+)", listed)
    return Path(found.group(1)) if found else None


def copy_opencl(package):
    loader, licence = opencl_loader(), Path("/usr/share/doc/ocl-icd-libopencl1/copyright")
    for header in ("cl.h", "cl_version.h", "cl_platform.h"):
        if Path("/usr/include/CL", header).exists():
            copy(Path("/usr/include/CL", header), package / "include" / "CL" / header)
    if loader and licence.exists():
        copy(loader, package / "lib" / "libOpenCL.so.1")
        copy(licence, package / "lib" / "libOpenCL.licence")
        # What `-lOpenCL` finds.
        (package / "lib" / "libOpenCL.so").write_text("INPUT(libOpenCL.so.1)\n", encoding="utf-8")


class BuildWithCompiler(build_py):
    def run(self):
        super().run()
        made = find_compiler(Path(self.get_finalized_command("build").build_temp).absolute())
        package = Path(self.build_lib).absolute() / "flc"
        copy(made, package / "bin" / "flc")
        (package / "bin" / "flc").chmod(0o755)
        for runtime in (made.parent / name for name in RUNTIMES):
            if runtime.exists():
                copy(runtime, package / "bin" / runtime.name)
        copy_opencl(package)


# What every system with the GNU C library has, of the libraries that PEP 600 lets wheels need.
SYSTEM_LIBRARIES = re.compile(r"(libc|libm|libdl|libpthread|librt|ld-linux[\w-]*)\.so\.\d")


def oldest_glibc(binaries):
    """The (major, minor) version of the GNU C library that executables and libraries need, or None: they need other
    libraries or another C library."""
    versions = []
    for binary in binaries:
        # Another locale would translate "NEEDED".
        shown = subprocess.run(["objdump", "-p", str(binary)], capture_output=True, text=True, check=False,
                               env={**os.environ, "LC_ALL": "C"}).stdout
        needed, found = re.findall(r"NEEDED +(\S+)", shown), re.findall(r"\bGLIBC_(\d+)\.(\d+)", shown)
        if not found or not all(SYSTEM_LIBRARIES.fullmatch(library) for library in needed):
            return None
        versions += [(int(major), int(minor)) for major, minor in found]
    return max(versions, default=None)


class PlatformWheel(bdist_wheel):
    """For this kind of machine and the C library that the compiler needs, for every Python 3."""

    def finalize_options(self):
        super().finalize_options()
        self.root_is_pure = False

    def get_tag(self):
        platform = super().get_tag()[2]
        package = Path(self.get_finalized_command("build_py").build_lib, "flc")
        binaries = [path for path in (package / "bin/flc", package / "lib/libOpenCL.so.1") if path.exists()]
        glibc = oldest_glibc(binaries) if shutil.which("objdump") else None
        if glibc and platform.startswith("linux_"):
            platform = f"manylinux_{glibc[0]}_{glibc[1]}_{platform.removeprefix('linux_')}"
        return "py3", "none", platform


class PlatformDistribution(Distribution):
    def has_ext_modules(self):
        return True


setup(license="ISC", distclass=PlatformDistribution, cmdclass={"build_py": BuildWithCompiler, "bdist_wheel": PlatformWheel})
