#!/usr/bin/env python3
"""No function is left over: each one that a header of compiler/ or tuner/ declares is defined, and something beside its
own definition mentions it, if only a test.  (The compiler of C finds static functions that nothing calls.)  Prints
what breaks this; exit status 1 if something does."""
import collections
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
FUNCTION = re.compile(r"^(?!typedef|return)(?:[A-Za-z_][\w \*]*?[ \*])(\w+)\(([^;{}]*?)\)\s*\{", re.M)
DECLARATION = re.compile(r"^(?!typedef|static|return)(?:[A-Za-z_][\w \*]*?[ \*])(\w+)\(([^;{}]*?)\)[^;{}]*;", re.M)
PATTERNS = ["compiler/**/*.[ch]", "compiler/**/*.def", "tuner/*.[ch]", "tests/**/*.[ch]"]


def sources():
    for pattern in PATTERNS:
        for path in sorted(ROOT.glob(pattern)):
            text = re.sub(r"//[^\n]*", "", path.read_text(encoding="utf-8"))
            yield path.relative_to(ROOT).as_posix(), text


def main():
    mentions, defined, declared = collections.Counter(), set(), collections.defaultdict(list)
    for name, text in sources():
        mentions.update(re.findall(r"\w+", text))
        functions = {match.group(1) for match in FUNCTION.finditer(text)}
        defined |= functions
        mentions.subtract(functions)
        if name.endswith(".h"):
            for match in DECLARATION.finditer(text):
                declared[match.group(1)].append(name)
                mentions[match.group(1)] -= 1
    bad = 0
    for name, headers in sorted(declared.items()):
        if headers[0].startswith("tests/"):
            continue
        reason = "nothing mentions it" if mentions[name] < 1 else "nothing defines it" if name not in defined else None
        if reason:
            print(f"{headers[0]}: {name}: {reason}")
            bad += 1
    return 1 if bad else 0


sys.exit(main())
