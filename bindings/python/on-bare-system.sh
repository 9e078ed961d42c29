#!/bin/sh
# Installs the package with its own device into a fresh virtual environment, and runs a program where the system's OpenCL
# (devices, headers, loader) is out of sight.  By hand, as root: it needs PyPI (70 MB), mounts, and a build of the compiler.
#
#   on-bare-system.sh [FLC]     FLC: take this compiler
set -eu
here=$(dirname "$(realpath "$0")")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/python"
if [ $# -gt 0 ]; then
  FLC=$(realpath "$1")
  export FLC
fi
"$work/python/bin/pip" install --quiet "${here}[cpu]"
mkdir "$work/empty"
cat > "$work/run.sh" << 'END'
set -eu
for folder in /etc/OpenCL /usr/include/CL; do
  if [ -d $folder ]; then mount --bind "$1/empty" $folder; fi
done
for file in /usr/lib/*/libOpenCL.so.1.*; do
  if [ -e "$file" ]; then mount --bind /dev/null "$file"; fi
done
cd "$1"
XDG_CACHE_HOME=$1/cache "$1/python/bin/python" - << 'PROGRAM'
import flc
module = flc.source("entry main [n] (xs: [n]i32) : i32 = i32.sum (map (* 2) xs)")
assert module.main([1, 2, 3]) == 12
print(module.device["name"])
PROGRAM
END
env -u FLC unshare -m sh "$work/run.sh" "$work"
