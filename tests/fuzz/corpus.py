#!/usr/bin/env python3
"""flc check on inputs that a fuzzer found interesting, on deep nests and on files that are no text.

    corpus.py FLC

Each must end within five seconds, accepted or refused: exit status 0 or 1, with a message if 1.
"""
import os
import pathlib
import random
import subprocess
import sys
import tempfile

DEPTH = 10000
BODIES = {
    "parentheses": "(" * DEPTH + "x" + ")" * DEPTH,
    "brackets": "[" * DEPTH + "x" + "]" * DEPTH,
    "braces": "{a=" * DEPTH + "x" + "}" * DEPTH,
    "lambdas": "(\\y -> " * DEPTH + "x" + ")" * DEPTH,
    "conditionals": "if x == 0 then 0 else " * DEPTH + "x",
    "bindings": "let y = x in " * DEPTH + "x",
    "loops": "loop y = x for i < 1i32 do " * DEPTH + "x",
    "matches": "match x case 0 -> 0 case y -> " * DEPTH + "x",
    "indices": "x" + "[0]" * DEPTH,
    "projections": "x" + ".a" * DEPTH,
    "operators": "x" + " + x" * DEPTH,
    "negations": "- " * DEPTH + "x",
    "applications": "f (" * DEPTH + "x" + ")" * DEPTH,
    "pipes": "x" + " |> id" * DEPTH,
    "updates": "x" + " with a = x" * DEPTH,
    "ascriptions": "x" + " : i32" * DEPTH,
    "ranges": "x" + "..<x" * DEPTH,
    "attributes": "#[a] " * DEPTH + "x",
    "inlined calls": "t (" * 40 + "(+ 1)" + ")" * 40 + " x",
    "long name": "a" * 1000000,
    "long number": "9" * 100000,
    "long hexadecimal number": "0x" + "f" * 1000000,
    "long decimal number": "1." + "1" * 1000000,
    "long string": '"' + "a" * 1000000 + '"',
}
TYPES = {
    "array type": "[1]" * DEPTH + "i32",
    "tuple type": "(" * DEPTH + "i32" + ", i32)" * DEPTH,
    "function type": "i32 -> " * DEPTH + "i32",
    "record type": "{a: " * DEPTH + "i32" + "}" * DEPTH,
}
COUNT = 60  # of components, any half of which a case may name
COMPONENTS = "def m (x: (" + ", ".join(["bool"] * COUNT) + ")) = match x\n" + "".join(
    "case (" + ", ".join("true" if i == k else "_" for i in range(COUNT)) + f") -> {k}\n"
    for k in range(COUNT)) + "case _ -> 0\n"
ABBREVIATIONS = "type t0 = i32\n" + "".join(
    f"type t{k} = (t{k - 1}, i32)\n" for k in range(1, 1500)) + "def g (x: t1499) = x.1\n"
PRODUCT = "def p (n: i64) (m: i64) = iota (" + " * ".join(["(n + m + 1)"] * 40) + ")\n"
MODULE_TYPES = "module type s0 = { val x : i32 }\n" + "".join(
    f"module type s{k} = {{ module a : s{k - 1} module b : s{k - 1} }}\n"
    for k in range(1, 40))
PRELUDE = "def f (y: i32) = y\ndef t 'a (g: a -> a) = \\(y: a) -> g (g y)\n"


def inputs():
    for path in sorted((pathlib.Path(__file__).parent / "corpus").iterdir()):
        yield path.name, path.read_bytes()
    for name, body in BODIES.items():
        yield name, f"{PRELUDE}entry main (x: i32) = {body}\n".encode()
    for name, type_ in TYPES.items():
        yield name, f"def g (x: {type_}) = 1i32\n".encode()
    yield "match on many components", COMPONENTS.encode()
    yield "abbreviations of abbreviations", ABBREVIATIONS.encode()
    yield "size that is a product of sums", PRODUCT.encode()
    yield "module types that double", MODULE_TYPES.encode()
    yield "nothing", b""
    yield "blanks", b" " * 5000000
    yield "zeros", bytes(100000)
    yield "noise", random.Random(1).randbytes(200000)
    yield "not UTF-8", b"entry main (caf\xe9: i32) = 1\n"
    yield "open string", b'entry main = "abc\n'


def problem(flc, path):
    try:
        done = subprocess.run([flc, "check", path], capture_output=True, timeout=5 * patience())
    except subprocess.TimeoutExpired:
        return "takes too long"
    if done.returncode not in (0, 1):
        return f"exit status {done.returncode}: {done.stderr[:300]!r}"
    return "refused without a message" if done.returncode == 1 and not done.stderr else None


def patience():
    """More time on a machine that is busy with other things."""
    return 1 + os.getloadavg()[0]


def main():
    failures = 0
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "p.fl")
        for name, text in inputs():
            pathlib.Path(path).write_bytes(text)
            what = problem(sys.argv[1], path)
            if what:
                print(f"{name}: {what}")
                failures += 1
    return failures > 0


sys.exit(main())
