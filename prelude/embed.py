#!/usr/bin/env python3
"""Turns files into a C table of byte arrays: embed.py NAME ROOT OUTPUT FILE...

NAME_files and NAME_file_count are declared in compiler/base/embed.h.  Byte arrays rather than
string literals, because C compilers need not accept literals of more than 4095 characters.
"""
import os
import sys


def byte_lines(data):
    for start in range(0, len(data), 20):
        signed = [byte - 256 if byte > 127 else byte for byte in data[start : start + 20]]
        yield "  " + " ".join(f"{byte}," for byte in signed)


def main():
    name, root, output, *files = sys.argv[1:]
    arrays, rows = [], []
    for index, path in enumerate(files):
        with open(path, "rb") as source:
            data = source.read()
        shown = os.path.relpath(path, root)
        arrays.append(f"// {shown}\nstatic const char bytes_{index}[] = {{")
        arrays.extend(byte_lines(data + b"\0"))
        arrays.append("};\n")
        rows.append(f'  {{ "{shown}", bytes_{index}, {len(data)} }},')
    # A table without rows would not be C; the count says that the first row means nothing.
    table = rows or ["  { 0, 0, 0 },"]
    lines = ['#include "base/embed.h"\n', *arrays, f"const EmbeddedFile {name}_files[] = {{"]
    lines += [*table, "};", f"const int {name}_file_count = {len(rows)};"]
    with open(output, "w", encoding="utf-8") as out:
        out.write("\n".join(lines) + "\n")


main()
