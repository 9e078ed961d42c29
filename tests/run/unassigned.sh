#!/bin/sh
# No kernel reads a variable that may not have been assigned: a compiler may take such a read to be
# impossible, and the condition that it stands under to be false.  unassigned.sh FLC PROGRAM...
command -v clang > /dev/null || exit 77
flc=$(realpath "$1")
shift
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
failed=0

for program in "$@"; do
  "$flc" build "$program" -o "$folder/p" || exit 1
  entry=$(sed -n 's/^entry \([A-Za-z0-9_]*\).*/\1/p' "$program" | head -n 1)
  rm -f "$folder/kernels.cl"
  "$folder/p" -e "$entry" --dump-opencl "$folder/kernels.cl" < /dev/null > /dev/null 2>&1
  # Kernels and functions of different kernels have the same names.
  awk '/^\/\/ flc kernel / { kernel = $4; split("", own) }
    kernel != "" && /^static .*\(/ { name = $0; sub(/\(.*/, "", name); sub(/.*[ *]/, "", name); own[name] }
    { gsub("FLC_HAS_", "FLC_HAS_" kernel "_"); gsub("flc_kernel", "flc_kernel_" kernel)
      for (name in own) gsub(name "\\(", name "_" kernel "("); print }' "$folder/kernels.cl" > "$folder/named.cl"
  clang -x cl -cl-std=CL1.2 -D__OPENCL_VERSION__=120 -Xclang -finclude-default-header \
    -Dcl_khr_fp64 -DFLC_F64 -DFLC_GROUP_SIZE=64 -DFLC_GROUP_STEPS=6 -target spir64 -fsyntax-only \
    -Wno-everything -Werror=uninitialized -Werror=sometimes-uninitialized \
    -Werror=conditional-uninitialized "$folder/named.cl" || failed=1
done
exit $failed
