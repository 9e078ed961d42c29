#!/usr/bin/env bash
# The device tests on a second OpenCL implementation: PoCL of Debian 13, in a folder that debootstrap
# makes.  By hand and as root, not by CI:
#
#   tests/on-debian-13.sh [FOLDER] [PATH...]    default: /tmp/flc-debian-13 and the folders below
#
# The project is copied into the folder, built there with Debian 13's compiler, and the cases of test
# blocks are run on the device.  That takes about an hour: every kernel is compiled for the first time.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

folder=${1:-/tmp/flc-debian-13}
shift || true
paths=("$@")
[ ${#paths[@]} -gt 0 ] || paths=(tests/run tests/rules tests/core tests/programs benchmarks tests/prelude tests/lang)

packages=(gcc libc6-dev meson ninja-build pkg-config python3 libgc-dev libgmp-dev zlib1g-dev
  libjansson-dev nettle-dev libedit-dev libmd4c-html0-dev libmd4c-dev ocl-icd-opencl-dev opencl-c-headers pocl-opencl-icd)

# shellcheck source=tests/debian-folder.sh
source tests/debian-folder.sh
debian_folder trixie
inside apt-get -qq install -y --no-install-recommends "${packages[@]}"

mkdir -p "$folder/flc"
git archive HEAD | tar -x -C "$folder/flc"
inside sh -c 'cd /flc && { [ -f build/build.ninja ] || meson setup build . ; } && ninja -C build flc'
inside sh -c 'cd /flc && build/flc test --stage device --timeout 3600 "$@"' sh "${paths[@]}"
