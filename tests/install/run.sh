#!/bin/sh
# Installs into a folder, moves that elsewhere, and uses what it holds: run.sh BUILD_FOLDER C_API_MD
set -eu
build=$1 document=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export XDG_CACHE_HOME="${XDG_CACHE_HOME:-$work/cache}"

fail() {
  echo "FAIL $*"
  exit 1
}

# Under DESTDIR, as packages are made; the prefix then has a name that the build has never heard of.
meson install -C "$build" --no-rebuild --quiet --destdir "$work/destination"
prefix=$(meson introspect "$build" --buildoptions |
  python3 -c 'import json, sys; print(next(o["value"] for o in json.load(sys.stdin) if o["name"] == "prefix"))')
[ -x "$work/destination$prefix/bin/flc" ] || fail "there is no bin/flc below the prefix"
mv "$work/destination$prefix" "$work/place"
[ -z "$(find "$work/destination" -type f)" ] || fail "there are files outside of the prefix"
cd "$work"
PATH=$work/place/bin:$PATH
[ "$(command -v flc)" = "$work/place/bin/flc" ] || fail "another flc is found"

# ---- prelude and runtime

printf 'entry main [n] (xs: [n]i32) : i32 = i32.sum (map (* 2) xs)\n' > double.fl
[ "$(echo '[1, 2, 3]' | flc eval double.fl)" = 12i32 ] || fail "eval"
[ "$(echo '[1, 2, 3]' | flc run double.fl)" = 12i32 ] || fail "run"

# Built programs are linked with the object that came along; nothing is compiled into the cache.
env -u CC XDG_CACHE_HOME="$work/fresh" flc build double.fl
[ -z "$(find "$work/fresh" -type f)" ] || fail "the runtime was compiled"

# ---- pages

for command in $(flc help --json | python3 -c 'import json, sys; print(*(c["name"] for c in json.load(sys.stdin)["commands"]))'); do
  page=place/share/man/man1/flc-$command.1
  [ -f "$page" ] || fail "there is no manual page of flc $command"
  for option in $(flc "$command" --help | grep -o -- ' --[a-z][a-z-]*' | tr -d ' ' | sort -u); do
    sed "s,[\\],,g" "$page" | grep -q -- "$option" || fail "the page of flc $command lacks $option"
  done
done
if command -v man > /dev/null; then
  for page in place/share/man/man1/*; do
    complaints=$(LC_ALL=C.UTF-8 MANROFFSEQ='' man --warnings -l "$page" 2>&1 > /dev/null)
    [ -z "$complaints" ] || fail "$page: $complaints"
  done
fi

[ -f place/share/flc/editors/vim/syntax/fl.vim ] || fail "the files for editors are not there"

[ -f place/share/doc/flc/examples/terrain.fl ] || fail "the gallery is not there"
[ -f place/share/flc/python/pyproject.toml ] || fail "the Python package is not there"
[ ! -e place/share/flc/python/tests ] || fail "the tests of the Python package are installed"
grep -o '](\([a-z-]*\.md\)' place/share/doc/flc/*.md | tr -s ':](' ' ' > links
while read -r page link; do
  [ -f "place/share/doc/flc/$link" ] || fail "$page: there is no $link"
done < links
[ -s links ] || fail "the documents have no links"

# ---- completions

# completes EXPECTED WORD...: what bash offers for the last of the words.
completes() {
  expected=$1
  shift
  # shellcheck disable=SC2016 # bash expands that
  got=$(bash -c 'source "$1"; shift; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _flc; echo "${COMPREPLY[*]}"' \
    bash place/share/bash-completion/completions/flc.bash "$@")
  [ "$got" = "$expected" ] || fail "completion of $*: expected $expected, got $got"
}
completes "test tune tree" flc t
completes "pkg" flc pk
completes "--format --flatten" flc tree --f
completes "moderate" flc tree --flatten m
completes "double.fl" flc check doub
completes "check" flc help ch
completes "sync" flc pkg sy
completes "kern" flc eval --after ker
completes "flatten" flc dump --after flatt
if command -v zsh > /dev/null; then zsh -n place/share/zsh/site-functions/_flc || fail "zsh"; fi
if command -v fish > /dev/null; then
  fish -n place/share/fish/vendor_completions.d/flc.fish || fail "fish"
  fish -c 'source place/share/fish/vendor_completions.d/flc.fish; complete -C "flc tree --flatten m"' |
    grep -q "^moderate" || fail "fish offers nothing"
fi

# ---- pkg-config, and the projects of the document

# block KIND: the first fenced block of this kind.
block() { awk -v kind="$1" '$0 == "```" kind { on = !seen++; next } /^```$/ { on = 0 } on' "$document"; }

PKG_CONFIG_PATH=$(dirname "$(find "$work/place" -name flc.pc)")
export PKG_CONFIG_PATH
pkg-config --libs flc | grep -q -- -lOpenCL || fail "pkg-config does not say -lOpenCL"
[ "$(pkg-config --define-variable=prefix="$work/place" --variable=flc flc)" = "$work/place/bin/flc" ] ||
  fail "pkg-config does not find flc"
mkdir project
block "fl sum.fl" > project/sum.fl
block c > project/main.c
block cmake > project/CMakeLists.txt
block meson > project/meson.build
if command -v cmake > /dev/null; then
  { cmake -S project -B with-cmake && cmake --build with-cmake; } > log 2>&1 || fail "cmake: $(cat log)"
  [ "$(with-cmake/example)" = 12 ] || fail "the example made by cmake"
fi
{ meson setup with-meson project && ninja -C with-meson; } > log 2>&1 || fail "meson: $(cat log)"
[ "$(with-meson/example)" = 12 ] || fail "the example made by meson"
