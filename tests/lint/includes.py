#!/usr/bin/env python3
"""Includes point one way.

A folder of compiler/ includes only itself and the folders before it in ORDER; a pass never
includes a pass (passes share no headers but passes.h); commands/ and flc.c reach the passes
through pipeline.h only; and no part of tuner/ includes itself by way of others.  Prints every line
that breaks this; exit status 1 if there is one.
"""
import pathlib
import re
import sys

ORDER = ["base", "source", "types", "core", "core/value", "core/interp", "core/ad", "core/elab", "flat", "flat/workers", "kern", "kern/from", "kern/cost", "kern/tidy", "kern/in_place", "kern/steps", "kern/recipes", "kern/schedules",
         "imp", "imp/lower", "emit"]
ROOT = pathlib.Path(__file__).resolve().parents[2] / "compiler"
INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"')


def includes(path):
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        match = INCLUDE.match(line)
        if match:
            yield number, match.group(1)


def complaint(folder, own_name, target):
    """Why a file of this folder must not include the target, or None."""
    if folder == "tuner":
        allowed = target.startswith(("base/", "tuner/"))
        return None if allowed else "the tuner knows only base/ of the compiler"
    if target.startswith("tuner/"):
        return None if folder.split("/")[0] == "commands" else f"{folder}/ must not know the tuner"
    if not (ROOT / target).exists():
        return "is not a path from compiler/"
    target_folder = target.rpartition("/")[0]
    if folder in ORDER:
        if target_folder not in ORDER:
            return f"{folder}/ must not know it"
        if ORDER.index(target_folder) > ORDER.index(folder):
            return f"{folder}/ comes before {target_folder}/"
        if target.endswith(".c"):
            return "is not a header"
    elif own_name != "pipeline.c" and target.endswith("/passes.h"):
        return "only pipeline.c knows the passes"
    return None


def circles(folder):
    """Parts (x.c and x.h together) that reach themselves."""
    parts = {}
    for path in folder.glob("*.[ch]"):
        names = {pathlib.PurePath(target).stem for _, target in includes(path) if target.startswith("tuner/")}
        parts.setdefault(path.stem, set()).update(names - {path.stem})

    def reached(part, seen):
        for other in parts.get(part, ()):
            if other not in seen:
                seen.add(other)
                reached(other, seen)
        return seen

    return [part for part in sorted(parts) if part in reached(part, set())]


def main():
    bad = 0
    for part in circles(ROOT.parent / "tuner"):
        print(f"tuner/{part}.h includes itself by way of others")
        bad += 1
    for path in sorted(ROOT.rglob("*.[ch]")) + sorted((ROOT.parent / "tuner").glob("*.[ch]")):
        folder = path.parent.relative_to(ROOT).as_posix() if path.is_relative_to(ROOT) else "tuner"
        for number, target in includes(path):
            reason = complaint(folder, path.name, target)
            if reason:
                print(f'{path.relative_to(ROOT.parent)}:{number}: "{target}" {reason}')
                bad += 1
    return 1 if bad else 0


sys.exit(main())
