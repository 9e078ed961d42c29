#!/usr/bin/env python3
"""One name, one meaning.

No two files define different types of one name; a function that a header declares shares its name with no
other function, and no two files of one folder (tuner/ is one) define functions of one name.  In flat/
and core/, what a header declares begins with a word of PREFIXES.  Prints every name that breaks this; exit
status 1 if there is one.
"""
import collections
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
FUNCTION = re.compile(r"^(?!typedef|return)(?:[A-Za-z_][\w \*]*?[ \*])(\w+)\(([^;{}]*?)\)\s*\{", re.M)
DECLARATION = re.compile(r"^(?!typedef|static|return|//)(?:[A-Za-z_][\w \*]*?[ \*])(\w+)\(([^;{}]*?)\)[^;{}]*;", re.M)
TYPE = re.compile(r"^(?:typedef )?(?:struct|enum|union) (\w+)\s*\{", re.M)
NAMED_TYPE = re.compile(r"^typedef (?:Vec\([^;]*\) |[^;{]*?\(\*)(\w+)", re.M)
PREFIXES = {"compiler/flat": "flat|flatten|goal|nest|par|rule|same_code|version|versions|size_names|spread"}


def definitions():
    """(kind, name) -> the files that define it, and the functions that headers declare."""
    found, declared = collections.defaultdict(set), collections.defaultdict(set)
    for path in sorted([*ROOT.glob("compiler/**/*.[ch]"), *ROOT.glob("tuner/*.[ch]")]):
        name = path.relative_to(ROOT).as_posix()
        text = re.sub(r"//[^\n]*", "", path.read_text(encoding="utf-8"))
        for match in FUNCTION.finditer(text):
            found["function", match.group(1)].add(name)
        for match in [*TYPE.finditer(text), *NAMED_TYPE.finditer(text)]:
            found["type", match.group(1)].add(name)
        if name.endswith(".h"):
            for match in DECLARATION.finditer(text):
                declared[match.group(1)].add(name)
    return found, declared


def clash(kind, name, files, declared):
    """The files that must not share the name, or nothing."""
    files = sorted(files)
    if len(files) < 2:
        return []
    if kind == "type" or name in declared:
        return files
    folders = collections.Counter(file.rpartition("/")[0] for file in files)
    return [file for file in files if folders[file.rpartition("/")[0]] > 1]


def main():
    found, declared = definitions()
    bad = [f"{kind} {name}: {', '.join(clash(kind, name, files, declared))}"
           for (kind, name), files in sorted(found.items()) if clash(kind, name, files, declared)]
    for name, headers in sorted(declared.items()):
        for header in sorted(headers):
            prefixes = PREFIXES.get(header.rpartition("/")[0])
            if prefixes and not re.match(rf"({prefixes})(_|$)", name):
                bad.append(f"{header}: {name} begins with none of {prefixes}")
    print("\n".join(bad))
    return 1 if bad else 0


sys.exit(main())
