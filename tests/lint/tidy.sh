#!/usr/bin/env bash
# clang-tidy on one source, unless it passed before in its present state: tidy.sh BUILD SOURCE
set -u
build=$1 source=$2

# What the verdict depends on: the text of the source and of its headers, and the rules.
key() {
  gcc -MM -I. -Icompiler -Iruntime "$source" | grep -oE '[^ :]+\.[ch]\b' | sort -u | xargs cat .clang-tidy |
    sha1sum | cut -d ' ' -f 1
}

stamp=$build/tidy/$(key)
[ -f "$stamp" ] && exit 0
mkdir -p "$build/tidy"
timeout 300 clang-tidy --quiet -p "$build" "$source" 2> /dev/null
status=$?
[ $status = 124 ] && echo "$source: clang-tidy took more than 300 s"
[ $status = 0 ] && : > "$stamp"
exit $status
