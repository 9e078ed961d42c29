#!/bin/sh
# Builds two libraries and runs C programs against them: run.sh FLC SOURCE_FOLDER
# shellcheck disable=SC2086 # variables hold several options
set -eu
flc=$(realpath "$1") here=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
"$flc" lib "$here/one.fl" -o one --prefix one
"$flc" lib "$here/two.fl" -o two --prefix two

warnings="-Wall -Wextra -Werror"
cc -O1 -std=c99 $warnings -c one.c
cc -O3 -std=c99 $warnings -c two.c
cc -O1 -std=gnu99 $warnings -I. "$here/library.c" one.o two.o -lOpenCL -lm -pthread -o library
./library

# Names and types are Futhark's with its prefix.
"$flc" lib "$here/one.fl" -o futhark_one --prefix futhark
cc -O1 -std=gnu99 $warnings -I. "$here/futhark.c" futhark_one.c -lOpenCL -lm -o futhark
./futhark

# The same with sanitizers; then with OpenCL calls that fail, one after the other.
sanitize="-g -fsanitize=address,undefined -fno-sanitize-recover=undefined"
# (LLVM, in the driver, changes the signal stacks of threads.)
export ASAN_OPTIONS=detect_leaks=1:use_sigaltstack=0 UBSAN_OPTIONS=print_stacktrace=1
export LSAN_OPTIONS="suppressions=$here/../runtime/leaks.txt:print_suppressions=0"
if echo 'int main(void) { return 0; }' | cc -x c $sanitize - -o sanitized 2>/dev/null; then
  cc $sanitize -std=gnu99 -I. "$here/library.c" one.c two.c -lOpenCL -lm -pthread -o sanitized
  ./sanitized
else
  sanitize=
fi
"$flc" lib "$here/faults.fl" -o faults --prefix faults
cc $sanitize -std=gnu99 $warnings -I. "$here/faults.c" "$here/../runtime/faulty_opencl.c" faults.c \
  -lOpenCL -lm -ldl -pthread -o faults
./faults "${FAULTS_EVERY:-20}"

# The same text is C++, and clang agrees.
for cxx in g++ clang++; do
  if command -v $cxx >/dev/null; then $cxx -x c++ -std=c++11 $warnings -fsyntax-only one.c; fi
done
if command -v clang >/dev/null; then clang -std=c99 $warnings -fsyntax-only one.c; fi

# The manifest is JSON and names what the header declares.
python3 - <<'PYTHON'
import json, re
manifest = json.load(open("one.json"))
header = open("one.h").read()
names = [entry["cfun"] for entry in manifest["entry_points"].values()]
for kind in manifest["types"].values():
    names += kind["ops"].values()
    if "record" in kind:
        names += [kind["record"]["new"]] + [field["project"] for field in kind["record"]["fields"]]
    if "record_array" in kind:
        rows = kind["record_array"]
        names += [rows["zip"]] + [field["project"] for field in rows["fields"]]
    for rows in (kind.get("record_array"), kind.get("opaque_array")):
        names += [rows[op] for op in ("index", "shape", "new", "set")] if rows else []
    if "sum" in kind:
        names.append(kind["sum"]["variant"])
        for variant in kind["sum"]["variants"]:
            names += [variant["construct"], variant["destruct"]]
missing = [name for name in names if not re.search(r"\b%s\(" % name, header)]
assert not missing, missing
assert manifest["entry_points"]["put"]["inputs"][0]["unique"] is True
assert manifest["entry_points"]["move"]["output"]["type"] == "point"
assert manifest["entry_points"]["move"]["outputs"] == [manifest["entry_points"]["move"]["output"]]
assert manifest["types"]["point"]["ctype"] == "struct one_opaque_point *"
assert [f["name"] for f in manifest["types"]["point"]["record"]["fields"]] == ["x", "y"]
assert manifest["types"]["[]point"]["ctype"] == "struct one_opaque_arr1d_point *"
rows = manifest["types"]["[]point"]["record_array"]
assert (rows["rank"], rows["elemtype"]) == (1, "point")
assert [(f["name"], f["type"]) for f in rows["fields"]] == [("x", "[]f32"), ("y", "[]i64")]
rows = manifest["types"]["parts"]["record_array"]
assert [(f["name"], f["type"]) for f in rows["fields"]] == [("at", "[]point"), ("shape", "[]figure"), ("sides", "[][]f32")]
assert manifest["types"]["[][]figure"]["opaque_array"]["rank"] == 2
assert [one["type"] for one in manifest["entry_points"]["spans"]["inputs"]] == ["span", "{y: i64}"]
assert manifest["entry_points"]["kept"]["attributes"] == ["name(kept)", "bytes((i * 16) + 8)"]
assert manifest["types"]["((i64, i64), (f32, f32))"]["ctype"] == "struct one_opaque_tup2_tup2_i64_i64_tup2_f32_f32 *"
PYTHON

# The example of the documentation.
awk '/^```fl sum.fl$/ { on = 1; next } /^```$/ { on = 0 } on' "$here/../../docs/c-api.md" > sum.fl
awk '/^```c$/ { on = 1; next } /^```$/ { on = 0 } on' "$here/../../docs/c-api.md" > example.c
"$flc" lib sum.fl -o sum --prefix sum
cc -O1 -std=gnu99 $warnings -I. example.c sum.c -lOpenCL -lm -o example
test "$(./example)" = 12

# What the header declares is documented, at least by the end of its name.
for name in $(grep -o 'sum_\(context\|get\)_[a-z_]*(' sum.h | tr -d '(' | sort -u); do
  short=$(printf '%s' "$name" | sed 's/^sum_\(context_config_set_default\|context_config\|context\|get_tuning_param\)_//')
  grep -q -- "$short" "$here/../../docs/c-api.md" || { echo "docs/c-api.md lacks $name"; exit 1; }
done
