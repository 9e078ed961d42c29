#!/bin/sh
# What flc bench prints and writes: bench.sh FLC.  Exit status 77 (skipped) without an OpenCL device.
flc=$(realpath "$1")
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
expect 'the comparison' 'small .*[0-9]x \(was ' out

"$flc" bench q.fl > out 2> err && failures=$((failures + 1))
# shellcheck disable=SC2016 # the backquotes are the message's
expect 'an unknown size' 'q.fl:3:[0-9]+.*no size or integer parameter of `main` is called `m`' err

if [ "$failures" != 0 ]; then
  echo "$failures failed"
  exit 1
fi
