#!/usr/bin/env python3
"""Which flattening rules fire on the programs of this folder.

usage: fires.py FLC

A program says `-- fires: G3 G9` and `-- stays: G5`; compared with `flc dump --trace-rules`.  Also:
each rule G0..G9 is defined once in compiler/flat and has a program gN-* on which it fires.
"""
import re
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent
FLAT = HERE.parent.parent / "compiler" / "flat"


def fired(flc, path):
    done = subprocess.run([flc, "dump", str(path), "--trace-rules"], capture_output=True, text=True,
                          check=False)
    if done.returncode != 0:
        return None
    return set(re.findall(r"^\S+:\d+:\d+: (\S+)$", done.stderr, re.M))


def directive(text, word):
    return {rule for line in re.findall(rf"^-- {word}: (.*)$", text, re.M) for rule in line.split()}


def check_program(flc, path):
    text, rules = path.read_text(encoding="utf-8"), fired(flc, path)
    if rules is None:
        return set(), [f"{path.name}: does not compile"]
    wanted, unwanted = directive(text, "fires"), directive(text, "stays")
    problems = [f"{path.name}: {rule} does not fire" for rule in sorted(wanted - rules)]
    problems += [f"{path.name}: {rule} fires" for rule in sorted(unwanted & rules)]
    return wanted, problems


def check_definitions():
    source = "\n".join(path.read_text(encoding="utf-8") for path in sorted(FLAT.glob("*.c")))
    for number in range(10):
        # A definition begins in column 0 and its parameters are followed by a brace.
        found = re.findall(rf"^[a-z][^\n;=]*\brule_g{number}\([^)]*\) {{", source, re.M)
        if len(found) != 1:
            yield f"rule_g{number} is defined {len(found)} times"


def main():
    problems, tested = list(check_definitions()), set()
    for path in sorted(HERE.glob("*.fl")):
        wanted, complaints = check_program(sys.argv[1], path)
        problems += complaints
        tested |= {rule for rule in wanted if path.name.startswith(rule.lower() + "-")}
    problems += [f"no program g{n}-* on which G{n} fires" for n in range(10) if f"G{n}" not in tested]
    print("\n".join(problems) or f"{len(tested)} rules")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
