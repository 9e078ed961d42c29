#!/usr/bin/env python3
"""Turns files into C string literals, a line each: pieces.py OUTPUT FILE..."""
import json
import sys

output, *files = sys.argv[1:]
with open(output, "w", encoding="ascii") as out:
    for path in files:
        with open(path, encoding="ascii") as source:
            out.writelines(json.dumps(line) + ",\n" for line in source)
