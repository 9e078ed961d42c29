#!/usr/bin/env python3
"""docs/cli.md must name each option of executables: commands.py CLI_MD CLI_H.  (Those of flc stand in tables that
docs/pages.py compares.)"""
import re
import sys
from pathlib import Path


def main():
    document, runtime_options = sys.argv[1:]
    mentioned = set(re.findall(r"--[a-z][a-z0-9-]*", Path(document).read_text(encoding="utf-8")))
    table = Path(runtime_options).read_text(encoding="utf-8")
    options = re.findall(r'^  \{ (?:0|\'.\'), "([a-z-]+)"', table, re.M)
    missing = [option for option in options if f"--{option}" not in mentioned]
    for option in missing:
        print(f"{document} does not mention --{option} of executables")
    sys.exit(1 if missing or not options else 0)


if __name__ == "__main__":
    main()
