#!/bin/sh
# What flc bench prints and writes: bench.sh FLC.  Exit status 77 (skipped) without an OpenCL device.
flc=$(realpath "$1")
tests=$(dirname "$(realpath "$0")")
failures=0
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder" || exit 1
export XDG_CACHE_HOME="$folder/cache" HOME="$folder"
mkdir cache

cat > p.fl << 'END'
-- ==
-- "small" input { [1, 2, 3] 2i64 }
-- input { [4, 5] 1i64 } output { [8, 10] }
-- "left out" nobench input { [4, 5] 1i64 }

-- ==
-- entry: total
-- input { [1, 2] }

#[bytes(8 * n + 4 * (k - 1))]
entry main [n] (xs: [n]i32) (k: i64) : [n]i32 = map (* 2) xs

entry total (xs: []i32) : i32 = i32.sum xs
END
cat > q.fl << 'END'
-- ==
-- input { [1, 2] }
#[bytes(8 * m)]
entry main [n] (xs: [n]i32) : [n]i32 = map (* 2) xs
END
"$flc" build p.fl -o p || exit 1
if printf '[1] 2i64' | ./p 2>&1 | grep -q 'no OpenCL'; then exit 77; fi

# expect WHAT PATTERN FILE
expect() {
  grep -Eq -- "$2" "$3" && return
  printf 'FAIL %s\n  expected: %s\n  got: %s\n' "$1" "$2" "$(cat "$3")"
  failures=$((failures + 1))
}

"$flc" bench p.fl -r 2 --json first.json > out 2> err || failures=$((failures + 1))
expect 'the median, the spread and the rate' 'small .* us +[0-9.]+ us to .* runs +[0-9.]+ GB/s$' out
expect 'a case without a name' '#1 \(\[4, 5\] 1i64\)' out
expect 'no rate where the program says nothing' '#[0-9] \(\[1, 2\]\) .* runs$' out
if grep -q 'left out' out; then expect 'cases that are left out' 'none' out; fi
if [ -s err ]; then expect 'no progress line outside of terminals' 'none' err; fi

python3 - << 'END' || failures=$((failures + 1))
import json
results = json.load(open("first.json"))
small = results["p.fl"]["datasets"]["small"]
assert len(small["runtimes"]) >= 2 and all(t >= 0 for t in small["runtimes"])
assert small["moved"] == 8 * 3 + 4
assert small["bytes"]["device"] >= 2 * 3 * 4
assert "moved" not in list(results["p.fl:total"]["datasets"].values())[0]
END

"$flc" bench p.fl -e main -r 2 --compare first.json > out 2> err || failures=$((failures + 1))
expect 'the comparison' 'small .*[0-9]x \([0-9.]+x to [0-9.]+x, was ' out

# ---- comparisons: what is clear, and what is not

python3 - << 'END' || failures=$((failures + 1))
import json
old = json.load(open("first.json"))
data = old["p.fl"]["datasets"]
data["small"]["runtimes"] = [50000000 + i for i in range(40)]
data["#1 ([4, 5] 1i64)"]["runtimes"] = [10.0 ** (3 * i - 4) for i in range(4)]
json.dump(old, open("old.json", "w"))
END
"$flc" bench p.fl -e main -r 2 --compare first.json --compare old.json --html page.html --sort-by ratio > out 2> err ||
  failures=$((failures + 1))
expect 'a clear difference' '^  p.fl small .*   [0-9]{3,}\.[0-9]+x \(' out
expect 'no clear difference' '#1 .* no difference: ' out
[ "$(sed -n 1p out | cut -c 1-9)" = '  p.fl #1' ] || expect 'slower ones first' 'none' out
PYTHONPATH=$tests python3 - << 'END' || failures=$((failures + 1))
from html_page import Page
page = Page("page.html")
page.check_links()
head, small = page.rows[0], next(row for row in page.rows if row[1] == "small")
assert head[-1] == "Speedup since old.json", head
assert small[0] == "p.fl" and small[2].endswith("s") and "\u00d7" in small[-1], small
for text in ["Against old.json", "Runs so far", "first.json: ", "old.json: 50.000 s", "now: "]:
    assert text in page.text, (text, page.text)
assert {"polyline", "figure"} <= page.tags
END
"$flc" bench p.fl -e total -r 2 --html alone.html > out 2> err || failures=$((failures + 1))
expect 'how much there is' '>1 data set, [0-9]+ runs<' alone.html
if grep -q 'GB/s' alone.html; then expect 'no column of which nothing is known' 'none' alone.html; fi
if grep -q 'Runs so far' alone.html; then expect 'no plots without earlier runs' 'none' alone.html; fi

# ---- what scripts for Futhark pass

"$flc" bench . --entry-point main -r 3 --no-convergence-phase --backend opencl --futhark futhark --concurrency 2 -v \
  --exclude-case=left --ignore-files='q[.]fl$' --no-tuning --skip-compilation --pass-option=--default-tile-size=8 > out 2> err ||
  failures=$((failures + 1))
expect 'the number of runs' 'small .* 3 runs' out
if [ -s err ]; then expect 'no messages' 'none' err; fi
"$flc" bench p.fl --backend c -r 1 --no-convergence-phase --pass-option=--no-such-option > out 2> err &&
  failures=$((failures + 1))
expect 'options of the program' 'failed: .*no-such-option' out
expect 'another backend' 'there are the backends opencl and cuda; --backend=c is not heeded' err
printf '==\n"other" input { [7] 1i64 }\n' > spec
cat > runner << 'END'
#!/bin/sh
printf '%s\n' "$*" >> "$RAN"
exec "$@"
END
chmod +x runner
RAN=$folder/ran "$flc" bench p.fl --spec-file spec --runner ./runner --cache-extension=kernels -r 1 --no-convergence-phase \
  --pass-compiler-option=--flatten=outer > out 2> err || failures=$((failures + 1))
expect 'cases of another file' '^  other ' out
if grep -q small out; then expect 'none of the program' 'none' out; fi
expect 'the runner' '/[0-9a-f]+ --cache-file p.fl.kernels -e main ' ran
mkdir folder
printf 'entry main (x: i32) = x\n' > folder/none.fl
printf -- '-- ==\n-- input { 3 }\nentry main (x: i32) = x\n' > folder/some.fl
"$flc" bench folder -r 2 --no-convergence-phase > out 2> err || expect 'a folder' 'none' err
expect 'the programs of a folder' '^folder/some.fl$' out
"$flc" bench folder/none.fl > out 2> err && failures=$((failures + 1))
expect 'a program without data' 'folder/none.fl has no data to measure' err
rm p
"$flc" bench p.fl --skip-compilation > out 2> err && failures=$((failures + 1))
expect 'an executable that is not there' 'flc build p.fl' err
cat > slow.fl << 'END'
-- ==
-- input { 4000000000i64 }
entry main (n: i64) : i64 = loop x = 1 for i < n do (x * 31 + i) % 65537
END
"$flc" bench slow.fl --timeout 1 > out 2> err && failures=$((failures + 1))
expect 'the time limit' 'failed: took more than 1 s' out
for text in '{' '[]' '{"x": 3}' '{"x": {"datasets": {"a": 3}}}' '{"x": {"datasets": {"a": {"runtimes": ["a"]}}}}'; do
  printf '%s' "$text" > j.json
  "$flc" bench p.fl --compare j.json > out 2> err && failures=$((failures + 1))
  expect "a comparison with $text" '^error: flc bench: cannot read j.json: it is no' err
done
for mistake in '--sort-by=size' '--timeout=x' '--timeout=-1' '--timeout=0' '--ignore-files=(' '-r0' '-r1,' '--runs=1e3' '--runs=99999999999999999999' '--compare=none.json' '--spec-file=none' '--runner=./none'; do
  "$flc" bench p.fl "$mistake" > out 2> err && failures=$((failures + 1))
  expect "a mistake in $mistake" 'error: flc bench: ' err
done

"$flc" bench q.fl > out 2> err && failures=$((failures + 1))
# shellcheck disable=SC2016 # the backquotes are the message's
expect 'an unknown size' 'q.fl:3:[0-9]+.*no size or integer parameter of `main` is called `m`' err

if [ "$failures" != 0 ]; then
  echo "$failures failed"
  exit 1
fi
