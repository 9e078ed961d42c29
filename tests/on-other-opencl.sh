#!/usr/bin/env bash
# The device tests on another OpenCL implementation than PoCL: Intel's run-time for CPUs, from PyPI, which
# runs on processors of others as well.  By hand, not by CI:
#
#   tests/on-other-opencl.sh [PATH...]            test blocks on the device; default: the folders below
#   tests/on-other-opencl.sh --bench [PATH...]    flc bench on both; default: benchmarks/*.fl
#   tests/on-other-opencl.sh --run COMMAND...     any command with the other implementation
#
# It is installed into $FLC_OTHER_OPENCL (default /tmp/flc-other-opencl), once: 225 MB.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

folder=${FLC_OTHER_OPENCL:-/tmp/flc-other-opencl}
flc=build/flc

install_runtime() {
  [ -e "$folder/libraries/libintelocl.so" ] && return
  mkdir -p "$folder/vendors" "$folder/libraries"
  python3 -m venv "$folder/python"
  "$folder/python/bin/pip" install --quiet intel-opencl-rt intel-cmplr-lib-rt
  # Its libraries without its loader: programs use the system's, which finds implementations by files.
  for library in "$folder"/python/lib/*.so* "$folder"/python/lib/*.rtl; do
    case $library in *libOpenCL.so*) ;; *) ln -sf "$library" "$folder/libraries/" ;; esac
  done
  echo "$folder/libraries/libintelocl.so" > "$folder/vendors/intel.icd"
}

# with_other COMMAND...: caches of its own, so that neither implementation profits from the other's.
with_other() {
  mkdir -p "$folder/cache"
  env OCL_ICD_VENDORS="$folder/vendors" LD_LIBRARY_PATH="$folder/libraries" XDG_CACHE_HOME="$folder/cache" "$@"
}

test_blocks() {
  local paths=("$@")
  [ ${#paths[@]} -gt 0 ] || paths=(tests/run tests/rules tests/lang tests/programs tests/prelude tests/core benchmarks)
  with_other "$flc" test --stage device --timeout 3600 "${paths[@]}"
}

# Each program on both, one after the other; the second table says how many times faster it is.
bench() {
  local programs=("$@") results
  [ ${#programs[@]} -gt 0 ] || programs=(benchmarks/*.fl)
  results=$(mktemp)
  echo "== $("$flc" run benchmarks/call.fl --list-devices | head -n 1)"
  "$flc" bench --json "$results" "${programs[@]}" || true
  echo "== $(with_other "$flc" run benchmarks/call.fl --list-devices | head -n 1)"
  with_other "$flc" bench --compare "$results" "${programs[@]}" || true
  rm -f "$results"
}

./dev build
install_runtime
if ! with_other "$flc" run benchmarks/call.fl --list-devices | grep -qi intel; then
  echo "the run-time is in $folder, but finds no device" >&2
  exit 1
fi
case ${1:-} in
  --bench)
    shift
    bench "$@"
    ;;
  --run)
    shift
    with_other "$@"
    ;;
  *) test_blocks "$@" ;;
esac
