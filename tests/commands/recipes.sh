#!/bin/sh
# shellcheck disable=SC2016
# Recipes: what flc dump --recipes prints can be read again, --explain says why, and steps are refused with
# reasons: recipes.sh FLC.
flc=$(realpath "$1")
programs=$(realpath "$(dirname "$0")/..")
failures=0
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder" || exit 1
export XDG_CACHE_HOME="$folder/cache" HOME="$folder" FLC_CHECK_IR=1

fail() {
  printf 'FAIL %s\n' "$1"
  failures=$((failures + 1))
}

# expect WHAT PATTERN FILE
expect() {
  grep -Eq -- "$2" "$3" && return
  fail "$(printf '%s\n  expected: %s\n  got: %s' "$1" "$2" "$(cat "$3")")"
}

# ---- what is printed can be read

for program in "$programs"/kern/*.fl "$programs"/programs/k-means.fl "$programs"/programs/game-of-life.fl; do
  [ -e "$program" ] || continue
  "$flc" dump --recipes "$program" > first 2> err || fail "recipes of $program"
  "$flc" dump --recipes --recipe first "$program" > second 2> err || fail "recipes of $program, read: $(cat err)"
  sed 's/_[0-9]*//g' first > first.plain
  sed 's/_[0-9]*//g' second > second.plain
  cmp -s first.plain second.plain || fail "other recipes of $program: $(diff first.plain second.plain | head -n 20)"
done

cat > product.fl << 'END'
entry main [n] [m] [k] (a: [n][k]i32) (b: [k][m]i32) : [n][m]i32 =
  #[sequential_inner] map (\row -> map (\column -> i32.sum (map2 (*) row column)) (transpose b)) a
END
"$flc" dump --recipes product.fl > out || fail 'recipes of a product'
expect 'the name of a kernel, and its place' '^kernel main.segmap  -- product.fl:2:' out
expect 'an alternative' '^otherwise$' out
expect 'a kernel as a comment' '^  -- +axis n0: .* grid map' out

# ---- reasons

"$flc" dump --explain product.fl > out || fail 'an explanation'
expect 'the kernel as it is' '= axis k: .* reduce' out
expect 'what there is to do' 'operations, .* bytes read, .* written, .* in arrays' out
expect 'the choice' '^ +[0-9.e+]+ +[0-9]+ %  tiles of 4 rows by 2 vectors  <- choice 2, where 4 <= n_[0-9]+ && 32 <= m_' out
expect 'what was weighed' '^ +[0-9.e+]+ +[0-9]+ %  as it is$' out
cat > loop.fl << 'END'
entry main [n] (xss: [n][100]i32) : [n]i32 =
  map (\xs -> (loop (a, b) = (0, 1) for x in xs do (b, a * 31 + x)).0) xss
END
"$flc" dump --explain loop.fl > out || fail 'an explanation of a loop'
expect 'what was refused' 'left out:' out

# ---- refusals of what is read

# refused WHAT PATTERN PROGRAM: status 1 for `recipe`, and a message
refused() {
  "$flc" dump --recipes --recipe recipe "$3" > out 2> err
  status=$?
  [ $status = 1 ] || fail "$1: status $status"
  if [ -s out ]; then fail "$1: something on standard output"; fi
  expect "$1" "$2" err
}

# text WHAT PATTERN LINE...
text() {
  what=$1 pattern=$2
  shift 2
  printf '%s\n' "$@" > recipe
  refused "$what" "$pattern" product.fl
}

text 'an unknown step' '^recipe:2:3: error: unknown step `spilt`' 'kernel main.segmap' '  spilt n by 4'
expect 'what it may be' '^hint: did you mean split\?' err
text 'a step that is like none' '^hint: steps are split, permute, ' 'kernel main.segmap' 'vectorise'
text 'an unknown kernel' '^recipe:1:8: error: the program has no kernel main.segmpa' 'kernel main.segmpa'
expect 'what is near' '^hint: did you mean main.segmap\?' err
text 'a kernel that is like none' '^hint: its kernels are main.segmap' 'kernel x'
text 'a step of no kernel' '^recipe:1:1: error: expected `kernel` and a name, found split' 'split n by 4'
text 'no name' '^recipe:1:7: error: expected the name of a kernel, found the end of the step' 'kernel -- main.segmap'
text 'two names' 'error: expected the end of the line, found b' 'kernel a b'
text 'a kernel twice' '^recipe:2:8: error: there is a recipe for a already' 'kernel a' 'kernel a'
text 'no number' '^recipe:2:14: error: expected a number from 1 to 1048576, found x' 'kernel main.segmap' '  split n by x'
text 'zero' 'expected a number from 1 to 1048576, found 0' 'kernel main.segmap' 'split n by 0'
text 'a large number' 'expected a number from 1 to' 'kernel main.segmap' 'split n by 99999999999999999999'
text 'no axis' '^recipe:2:1: error: expected the name of an axis|expected the name of an axis, found 4' 'kernel main.segmap' 'split 4'
text 'neither by nor into' 'expected `by` or `into`, found 4' 'kernel main.segmap' 'split n 4'
text 'a word too much' 'expected the end of the step, found quickly' 'kernel main.segmap' 'split n by 4 peel quickly'
text 'one axis to permute' 'expected the name of an axis, found the end of the step' 'kernel main.segmap' 'permute n'
text 'many axes' 'expected at most 8 axes' 'kernel main.segmap' 'permute a b c d e f g h i'
text 'an unknown place' '^recipe:2:13: error: expected `seq`, `grid`, `lane` or `reg`, found warp' 'kernel main.segmap' '  bind n to warp'
text 'what steps look like' '^hint: bind AXIS .. to seq' 'kernel main.segmap' 'bind n to warp'
text 'a condition' 'expected `>=`, `<` or `fills`, found >' 'kernel main.segmap' 'where n > 3'
text 'an axis that is not there' '^recipe:3:11: error: there is no axis q' 'kernel main.segmap' 'split n by 4' '  permute q n'
expect 'those that are there' '^hint: at this point the axes are n0, n, m, k$' err
text 'what is never reached' '^recipe:3:1: error: this is never reached' 'kernel main.segmap' 'split m by 4 short' 'otherwise' 'where n >= 4'
rm recipe
refused 'a file that is not there' '^error: cannot read recipe: No such file' product.fl

# A comment, several steps on a line, and one recipe for where another one does not apply.
cat > recipe << 'END'
-- tiles
kernel main.segmap
  where m >= 64; split m by 8 overlap  -- in vectors
  bind m to lane
otherwise
  permute m n
END
"$flc" dump --recipes --recipe recipe product.fl > out 2> err || fail "a recipe: $(cat err)"
expect 'its condition' '^  -- if 64 <= m_[0-9]+ && 8 <= m_|^  -- if 64 <= m' out
expect 'its steps' '^  bind m to lane$' out

# ---- recipes in the source

# attribute STEPS: a.fl, with a sum and a scan
attribute() {
  cat > a.fl << END
entry main [n] [k] (a: [n][k]i32) : ([n]i32, [n][k]i32) =
  (#[sequential_inner] #[recipe("$1")] map i32.sum a, #[sequential_inner] map (scan (+) 0) a)
END
  "$flc" dump --recipes a.fl > out 2> err
}

attribute 'split n by 4 overlap; bind n to lane' || fail "an attribute: $(cat err)"
[ "$(grep -c '^  split n by 4 overlap$' out)" = 1 ] || fail 'the kernels of an attribute'
expect 'a kernel beside it' '^  split k by 16 peel$' out
attribute 'permute k n' && fail 'an attribute that does not apply'
expect 'where it is wrong' '^a.fl:2:34: error: `permute k n` does not apply' err
attribute 'split n by 4; kernel main.segmap' && fail 'a kernel in an attribute'
expect 'no kernels in attributes' '^a.fl:2:48: error: unknown step `kernel`' err
attribute '' || fail "an empty attribute: $(cat err)"
printf 'kernel main.segmap\n  split n by 8 bound\n' > recipe
attribute 'split n by 4 overlap'
"$flc" dump --recipes --recipe recipe a.fl > out || fail 'a file and an attribute'
expect 'the file goes first' '^  split n by 8 bound$' out
printf 'entry main (x: i32) : i32 = #[recipe("split n by 4")] x + 1\n' > a.fl
"$flc" dump --recipes a.fl > out 2> err && fail 'an attribute on no kernel'
expect 'no kernel' '^a.fl:1:38: error: no kernel comes from this expression' err

# ---- choices

cat > recipe << 'END'
kernel main.segmap
  split m by 16 overlap; bind m to lane
or
  split n by 4 overlap; permute m n; bind n to reg
or
  permute m n
END
"$flc" dump --recipes --recipe recipe product.fl > out 2> err || fail "choices: $(cat err)"
[ "$(grep -c '^or$' out)" = 2 ] || fail 'choices are printed'
expect 'the parameter' '^  -- if main.segmap.recipe <= 1 && 16 <= m_' out
expect 'its next value' '^  -- if main.segmap.recipe <= 2 && 4 <= n_' out
"$flc" dump --recipes --recipe out product.fl > second 2> err || fail "choices, read: $(cat err)"
cmp -s out second || fail 'choices read and printed again'
"$flc" build --emit-c --recipe recipe product.fl -o product.c
expect 'the parameter in the program' '"main.segmap.recipe", "recipe", 1, 0, -1, 3' product.c

# ---- other recipes, for the tuner

"$flc" dump --recipes product.fl > plain 2> err || fail "recipes: $(cat err)"
"$flc" dump --recipes --other-recipes product.fl > out 2> err || fail "other recipes: $(cat err)"
expect 'another recipe' '^-- by main.segmap.recipe=2:$' out
expect 'its steps' '^--   split m by 16 overlap$' out
grep -v '^--' out | grep -v '^$' > first
grep -v '^--' plain | grep -v '^$' | cmp -s - first || fail 'the first recipe is the usual one'
sed -n '/by main.segmap.recipe=2:/,/by main.segmap.recipe=3:/s/^--   //p' out > second
echo 'main.segmap.recipe=2' > product.fl.tuning
"$flc" dump --recipes product.fl > out 2> err || fail "a tuned recipe: $(cat err)"
sed -n '2,/^  --/p' out | sed -n 's/^  \([a-z]\)/\1/p' | cmp -s - second || fail 'the tuned recipe is taken'
"$flc" build --emit-c product.fl -o product.c 2> err || fail "a tuned recipe: $(cat err)"
grep -q '"main.segmap.recipe"' product.c && fail 'a tuned recipe is no parameter'
echo 'main.segmap.recipe=99' > product.fl.tuning
"$flc" build --emit-c product.fl -o product.c 2> err && fail 'a recipe that is not there'
expect 'a recipe that is not there' 'sets main.segmap.recipe to 99; it has [0-9]* recipes' err
echo 'main.segmap_77.recipe=2' > product.fl.tuning
"$flc" build --emit-c product.fl -o product.c 2> err || fail "recipes of kernels that are gone: $(cat err)"
rm product.fl.tuning

# ---- the interpreter of kernels

printf '[[1, 2, 3], [4, 5, 6]] [[1, 2, 3, 4], [5, 6, 7, 8], [9, 10, 11, 12]]' > in
"$flc" eval product.fl < in > want
for steps in '' 'split m by 2 overlap; bind m to lane' 'permute m n; split k by 2 peel; permute k k0; bind k to reg'; do
  printf 'kernel main.segmap\n%s\n' "$steps" > recipe
  "$flc" eval --after kern --recipe recipe product.fl < in > out 2> err || fail "kernels in the interpreter: $(cat err)"
  cmp -s want out || fail "kernels in the interpreter: expected $(cat want), got $(cat out)"
done
printf 'kernel main.segmap\n  split k by 4 overlap\n' > recipe
"$flc" eval --after kern --recipe recipe product.fl < in > out 2> err && fail 'a refused recipe in the interpreter'
expect 'why it is refused' '^recipe:2:3: error: `split k by 4 overlap` does not apply' err
cat > fails.fl << 'END'
entry main [n] (is: [n]i64) : [n]i64 = map (\i -> is[i + 1]) is
END
printf '[0i64, 1]' | "$flc" eval --after kern fails.fl > out 2> err && fail 'a check in a kernel'
expect 'its message' '^fails.fl:1:[0-9]+: error: Index \[2\] out of bounds for array of shape \[2\]' err

[ $failures = 0 ] && echo 'all passed'
exit $((failures > 0))
