#!/bin/sh
# Installs the package, with the flc that is given, into a virtual environment, and tests it there: run-tests.sh FLC VENV
# Exit status 77, for skipped, where there is no such environment to be had.
set -eu
flc=$(realpath "$1") venv=$2 here=$(dirname "$(realpath "$0")")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

skip() {
  echo "skipped: $1"
  exit 77
}

if [ ! -x "$venv/bin/pip" ]; then
  python3 -m venv "$venv" || skip "python3 makes no virtual environments (Debian: python3-venv)"
fi
modules='cffi, futhark_data, futhark_ffi, futhark_server, numpy, pytest, setuptools, wheel'
if ! "$venv/bin/python" -c "import $modules" 2> /dev/null; then
  "$venv/bin/pip" install --quiet --retries 1 --timeout 20 numpy pytest 'setuptools>=68' wheel \
    futhark-data futhark-ffi futhark-server ||
    skip "PyPI cannot be reached"
fi
# From a copy: setuptools leaves files beside the sources.
mkdir "$work/python"
cp -r "$here/flc" "$here/pyproject.toml" "$here/setup.py" "$here/README.md" "$work/python"
FLC=$flc "$venv/bin/pip" install --quiet --no-build-isolation --no-deps --force-reinstall "$work/python"
unset FLC
cd "$here/tests"
export XDG_CACHE_HOME="${XDG_CACHE_HOME:-$work}"
"$venv/bin/python" -m pytest --quiet -p no:cacheprovider
