#!/usr/bin/env bash
# Installs the package into a fresh Debian, and uses what is there: compiles, runs, tunes, makes a C library.
# By hand and as root, not by CI:
#
#   ./dev package && tests/install/debian.sh bookworm && tests/install/debian.sh trixie
#
#   tests/install/debian.sh SUITE [FOLDER]    default: /tmp/flc-SUITE, which debootstrap makes
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

suite=$1 folder=${2:-/tmp/flc-$1}
package=$(ls build-package/flc_*.deb)

# shellcheck source=tests/debian-folder.sh
source tests/debian-folder.sh
debian_folder "$suite"

inside apt-get -qq purge -y flc > /dev/null 2>&1 || true
cp "$package" "$folder/tmp/flc.deb"
# As docs/index.md says: PoCL brings clang-15 along, which is no `cc`.
inside apt-get -qq install -y /tmp/flc.deb pocl-opencl-icd

mkdir -p "$folder/smoke"
cp docs/c-api.md tests/install/smoke.sh "$folder/smoke/"
inside sh /smoke/smoke.sh

inside apt-get -qq purge -y flc
[ ! -e "$folder/usr/bin/flc" ] && [ ! -e "$folder/usr/share/doc/flc" ]
echo "$suite: 1 passed, 0 failed"
