#!/bin/sh
# What flc profile prints and writes: profile.sh FLC.  Exit status 77 (skipped) without an OpenCL device.
flc=$(realpath "$1")
PYTHONPATH=$(realpath "$(dirname "$0")")
export PYTHONPATH PYTHONDONTWRITEBYTECODE=1
failures=0
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder" || exit 1
export XDG_CACHE_HOME="$folder/cache" HOME="$folder"
mkdir cache

# Two kernels in each of five rounds, if all is run in parallel; a case with more data than the other.
cat > 'p <b>&.fl' << 'END'
-- ==
-- "little" input { [1f32, 2f32] }
-- "<i>much</i>" random input { [300000]f32 }
-- "left out" nobench random input { [400000]f32 }

-- ==
-- entry: fails
-- input { [1, 2, 3] }

entry main [n] (xs: [n]f32) : f32 =
  let ys = loop ys = copy xs for i < 5 + i32.i64 (n / 10000000) do
    let s = f32.sum ys
    in map (\y -> y / s + f32.i32 i) ys -- <script>alert("&")</script>
  in ys[0]

entry fails [n] (is: [n]i32) : [n]i32 = map (\i -> is[i + 1]) (map i64.i32 is)

entry alone : []i64 = iota 1000

entry nothing (x: i32) : i32 = x + 1
END
"$flc" build 'p <b>&.fl' -o p || exit 1
if printf '[1f32]' | ./p 2>&1 | grep -q 'no OpenCL'; then exit 77; fi

fail() {
  printf 'FAIL %s\n' "$1"
  failures=$((failures + 1))
}

# expect WHAT PATTERN FILE
expect() {
  grep -Eq -- "$2" "$3" && return
  fail "$(printf '%s\n  expected: %s\n  got: %s' "$1" "$2" "$(cat "$3")")"
}

# refused WHAT PATTERN ARGUMENTS...: status 1, a message, and no file
refused() {
  what=$1 pattern=$2
  shift 2
  "$flc" profile "$@" > out 2> err < /dev/null
  status=$?
  [ $status = 1 ] || fail "$what: status $status"
  expect "$what" "$pattern" err
  if [ -s out ]; then fail "$what: something on standard output"; fi
  if [ -e new.json ]; then fail "$what: a file is left"; fi
}

"$flc" profile 'p <b>&.fl' -e main -r 3 --json p.json -- --path main.loop_0=T > out 2> err || fail 'a profile'
expect 'program, entry and data' '^p <b>&.fl: main, <i>much</i>: ' out
expect 'the kernels' ' segmap_[0-9]+ .*p <b>&.fl:[0-9]+:[0-9]+$' out
expect 'the host' '\(host\)$' out
if [ -s err ]; then expect 'nothing on standard error' 'nothing' err; fi

cat > check.py << 'END'
import json
import sys

def check(name, runs):
    """What holds for every profile."""
    profile = json.load(open(name))
    assert profile["schema"] == "flc-profile" and len(profile["runs_ns"]) == runs
    kernels, transfers = profile["kernels"], profile["transfers"]
    assert profile["total_ns"] == sum(profile["runs_ns"])
    spent = sum(k["total_ns"] for k in kernels) + sum(t["total_ns"] for t in transfers)
    assert profile["host_ns"] == max(0, profile["total_ns"] - spent)
    for sum_ in [k for k in kernels if k["count"]]:
        assert sum_["count"] % runs == 0, sum_
        assert sum_["min_ns"] * sum_["count"] <= sum_["total_ns"] <= sum_["max_ns"] * sum_["count"]
    timeline = profile["timeline"]
    assert timeline["ns"] in profile["runs_ns"] and timeline["whole"]
    events = timeline["events"]
    for kernel in kernels:
        ran = [e for e in events if e.get("kernel") == kernel["name"]]
        assert len(ran) * runs == kernel["count"]
    for transfer in transfers:
        assert sum(e["kind"] == transfer["kind"] for e in events) * runs == transfer["count"]
    for e in events:
        assert e["start_ns"] <= e["end_ns"] <= timeline["ns"] and 0 <= e["host_start_ns"] <= e["host_end_ns"]
    return profile

if __name__ == "__main__":
    p = check("p.json", 3)
    assert (p["program"], p["entry"], p["dataset"]) == ("p <b>&.fl", "main", "<i>much</i>")
    assert p["sizes"]["n"] == 300000 and p["copy"]["ns"] > 0
    counts = sorted(k["count"] for k in p["kernels"])
    assert sum(count == 15 for count in counts) >= 2, counts  # sum and division, once per round
    divides = [k for k in p["kernels"] if k["name"].startswith("segmap") and k["count"] == 15]
    assert any(k["bytes"] >= 15 * 300000 * 4 * 2 for k in divides), divides  # reads and writes ys
    assert all(k["file"] == "p <b>&.fl" and 10 <= k["line"] <= 15 for k in p["kernels"])
    assert p["input"]["count"] == 1 and p["input"]["bytes"] == 300000 * 4
    assert p["tree"]["name"] == "main"
END
python3 check.py || fail 'the figures'

"$flc" profile 'p <b>&.fl' -e main -d little -r 1 --json little.json > out 2> err || fail 'a data set'
expect 'the data set that was asked for' 'main, little: ' out
"$flc" profile 'p <b>&.fl' -e main -d '#1' -r 1 > out 2> err || fail 'a data set by number'
expect 'the data set by its number' 'main, <i>much</i>: ' out
# ---- what kernels compute and touch

cat > count.fl << 'END'
-- ==
-- entry: axpy part whole
-- random input { [2048]f32 }
-- ==
-- entry: product
-- random input { [96][96]f64 }
-- ==
-- entry: search
-- input { 2000i64 }
entry axpy [n] (xs: [n]f32) = map (\x -> 2.5 * x + 1) xs
entry product [n] (a: [n][n]f64) = map (\r -> map (\c -> f64.sum (map2 (*) r c)) (transpose a)) a
entry part [n] (xs: [n]f32) = map (* 2) xs[10:110]
entry whole [n] (xs: [n]f32) = map (\x -> (i32.f32 x * 3) ^ 5) xs
entry search (n: i64) : []i64 =
  map (\i -> (loop (x, k) = (f64.i64 i, 0) while x < 1e6 do (x * 2 + 1, k + 1)).1) (iota n)
END
for entry in axpy product part whole search; do
  "$flc" profile count.fl -e $entry -r 2 --json $entry.json > out 2> err || fail "counting $entry: $(cat err)"
done
expect 'a lower bound' ' > [0-9.]+ GOP/s ' out
expect 'the rate of arithmetic' 'computes [0-9]+ GOP/s .f32., .*[0-9]+ .i64.' out
python3 - << 'END' || fail 'what kernels compute and touch'
import json

def kernel(name, least):
    p = json.load(open(f"{name}.json"))
    assert p["peak"]["f32"] > 0, p["peak"]
    return max(p["kernels"], key=lambda k: (k["operations"] if least else 0, k["line"], -k["bytes"]))
k = kernel("axpy", True)
assert (k["operations"], k["bytes"], k["more"]) == (2 * 2 * 2048, 2 * 2 * 4 * 2048, False) and k["of_peak"] >= 0, k
k = kernel("product", True)  # in tiles, some of which reach over the border
assert 2 * 2 * 96 ** 3 <= k["operations"] <= 1.4 * 2 * 2 * 96 ** 3 and not k["more"], k
assert k["bytes"] == 2 * 2 * 8 * 96 ** 2, k
p = json.load(open("part.json"))
assert any(k["operations"] == 2 * 100 and k["bytes"] == 2 * 2 * 4 * 100 for k in p["kernels"]), p["kernels"]
assert kernel("whole", True)["operations"] == 2 * 2 * 2048  # those on indices do not count
assert kernel("search", True)["more"]
END

printf '[2f32, 4f32]' > values
"$flc" profile 'p <b>&.fl' -e main -i values -r 2 --json file.json > out 2> err || fail 'a file'
"$flc" profile 'p <b>&.fl' -e main -i - -r 2 --json - < values > stdin.json 2> err || fail 'standard input'
"$flc" profile 'p <b>&.fl' -e main -i values -r 1 --json gpu.json -- --code gpu > out 2> err ||
  fail 'code for GPUs'
expect 'which code' 'code for GPUs' out
"$flc" profile 'p <b>&.fl' -e alone -r 2 --json alone.json > out 2> err < /dev/null || fail 'no arguments'
printf '7' | "$flc" profile 'p <b>&.fl' -e nothing -r 2 --json nothing.json > out 2> err || fail 'no kernels'
printf 'empty([0]f32)' | "$flc" profile 'p <b>&.fl' -e main -i - -r 2 --json empty.json > out 2> err
status=$?
[ $status = 1 ] || fail "an empty array without a first element: status $status"
printf 'empty([0]f32) 0' > none
cat > sum.fl << 'END'
entry main [n] (xs: [n]f32) (k: i32) : (f32, [n]f32) = (f32.sum xs, map (+ f32.i32 k) xs)
END
"$flc" profile sum.fl -i none -r 2 --json empty.json > out 2> err || fail 'an empty array'
python3 - << 'END' || fail 'the other figures'
from check import check
assert check("file.json", 2)["dataset"] is None
assert check("little.json", 1)["sizes"]["n"] == 2
assert check("stdin.json", 2)["sizes"]["n"] == 2
assert check("gpu.json", 1)["device"]["code"] == "gpu"
assert check("alone.json", 2)["kernels"]
assert not check("nothing.json", 2)["kernels"]
assert check("empty.json", 2)["sizes"]["n"] == 0
END

# Pages: well-formed, of one file, nothing of the program taken for HTML.
"$flc" profile 'p <b>&.fl' -e main -r 2 -o p.html -- --path main.loop_0=T > out 2> err || fail 'a page'
expect 'the table beside the page' '^p <b>&.fl: main' out
"$flc" profile 'p <b>&.fl' -e alone -r 1 -o - < /dev/null > alone.html 2> err || fail 'a page on standard output'
printf '7' | "$flc" profile 'p <b>&.fl' -e nothing -r 2 -o nothing.html > out 2> err || fail 'a page without kernels'
cat > versions.fl << 'END'
-- ==
-- "one" random input { [64][100]f32 }
entry main [n] [m] (rows: [n][m]f32) : [n][m]f32 =
  map (\row -> let total = f32.sum row in map (/ total) row) rows
END
"$flc" profile versions.fl -r 1 -o untuned.html > out 2> err || fail 'a page without a log'
"$flc" tune versions.fl --quiet --budget 4 > out 2> err || fail 'a tuning'
"$flc" profile versions.fl -r 1 -o tuned.html > out 2> err || fail 'a page with a log'
"$flc" data -g '[3][5]f32' > other
"$flc" profile versions.fl -r 1 -i other -o other.html > out 2> err || fail 'a page with a log of other data'
python3 - << 'END' || fail 'the pages'
import json
from html_page import Page

def page(name):
    found = Page(name)
    found.check_links()
    assert not found.tags & {"link", "img", "iframe"}, name
    assert "prefers-color-scheme" in open(name).read()
    return found

p = page("p.html")
assert "p <b>&.fl: main, <i>much</i>" in p.text, p.text[:200]
assert 'in map (\\y -> y / s + f32.i32 i) ys -- <script>alert("&")</script>' in p.text, p.text
heads = [cell for row in p.rows if row and row[0] == "kernel" for cell in row]
assert heads == ["kernel", "time", "share", "calls", "each", "bytes", "GB/s", "of copy", "GOP/s", "of peak", "work-items", "version",
                 "recipe", "made of"], heads
kernels = [row for row in p.rows if row and row[0].startswith("seg") and len(row) == len(heads)]
assert sum(row[heads.index("calls")] == "5" for row in kernels) >= 2, kernels
assert all(row[-1].startswith("p <b>&.fl:") for row in kernels), kernels
assert any(row[0] == "(host)" for row in p.rows)
assert "forced" in " ".join(row[1] for row in p.rows if row and row[0].startswith("main.loop_0")), p.rows
events = json.loads(p.scripts["application/json"])
assert len([e for e in events["events"] if e[0] == 0]) >= 10
assert {e[1] for e in events["events"] if e[0] == 0} <= set(range(len(events["kernels"])))
timed = [row for row in p.rows if len(row) == 4 and row[0] and row[2].isdigit()]
assert timed and all(10 <= int(row[2]) <= 15 for row in timed), timed
assert page("alone.html").scripts and page("nothing.html").text.count("Nothing ran on the device.") == 1

untuned, tuned, other = page("untuned.html"), page("tuned.html"), page("other.html")
assert "There is no tuning log" in untuned.text
assert "holds no times for these data" in other.text
assert "in the log" in tuned.text and "versions.fl.tunelog" in tuned.text
versions = [row for row in tuned.rows if row and row[0].startswith("V")]
assert len(versions) >= 2 and all(len(row) == 5 for row in versions), versions
raced = [row for row in versions if row[3]]
assert len(raced) >= 2 and any(row[4] == "1.00" for row in raced), versions
assert any(row[1] == "runs" and row[2] for row in versions), versions
END

refused 'a failing program' '^p <b>&.fl:16:[0-9]+: error: .*out of bounds' \
  'p <b>&.fl' -e fails --json new.json
# shellcheck disable=SC2016
refused 'no such entry point' '^error: the program has no entry point `x`' 'p <b>&.fl' -e x --json new.json
refused 'no such data set' '^error: p <b>&.fl has no data set x for entry point main' \
  'p <b>&.fl' -e main -d x --json new.json
refused 'which data sets there are' '^hint: its cases are little, <i>much</i>' 'p <b>&.fl' -e main -d x
refused 'no such file of values' '^error: cannot read absent: No such file' \
  'p <b>&.fl' -e main -i absent --json new.json
printf '[1f32' > torn
refused 'values that are damaged' '^error: parameter xs: \[n\]f32: ' 'p <b>&.fl' -e main -i torn --json new.json
refused 'no such program' 'absent.fl' absent.fl --json new.json
refused 'no number of runs' 'wants a number of runs' sum.fl -r 0 --json new.json
refused 'too many files' 'expected one file name' sum.fl sum.fl
refused 'two sources of data' 'exclude each other' sum.fl -i none -d x
refused 'a folder that is not there' '^error: cannot write no/new.json: ' sum.fl -i none --json no/new.json
refused 'two outputs in one place' 'cannot both go to standard output' sum.fl -i none --json - -o -
refused 'a page in a folder that is not there' '^error: cannot write no/new.html: ' sum.fl -i none -o no/new.html
refused 'an option that the program does not have' 'unknown option --frob' sum.fl -i none \
  --json new.json -- --frob

[ $failures = 0 ] && echo 'all passed'
exit $((failures > 0))
