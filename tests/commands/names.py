#!/usr/bin/env python3
"""Names with quotes, newlines, backslashes, percent signs and bytes that are no UTF-8, everywhere: names.py FLC

Nothing that a name holds is run, ends a text or breaks what is written.  No device is needed.
"""
import json
import os
import pathlib
import subprocess
import sys
import tempfile

FLC = os.fsencode(os.path.abspath(sys.argv[1]))
SIMULATED = pathlib.Path(__file__).resolve().parent.parent / "tuner" / "simulated.py"

NAMES = [b'a"b', b"a\\", b"a\\n", b"a\n#error line two\n", b"100%s%n%d", b"\xff\xfe\xc3", b"a*_b", b"a?" + b"?'",
         b"a\rb\tc", b"caf\xc3\xa9", b"<b>&amp;'", b'");abort();("', b"$(touch x)`touch x`", b"-x", b" ", b"%"]

PROGRAM = b"""
entry main [n] (xs: [n]i32) (i: i64) : i32 = xs[i] + i32.sum (map (\\x -> i32.sum (map (+ x) xs)) xs)
entry main__ (M_PI: f32) (result: f32) : (f32, f32) = let flc_fail = M_PI + result in (flc_fail, M_PI)
entry main_ (x: {a': i32, a_: i32}) : {a': i32, a_: i32} = x
entry program (xs: []i32) : []i32 = map (+ 1) xs
"""


def run(*words, status=0, **more):
    done = subprocess.run(words, capture_output=True, check=False, timeout=120, **more)
    assert done.returncode == status, (words, done.returncode, done.stdout[-500:], done.stderr[-2000:])
    return done


def strict_json(data):
    return json.loads(data.decode("utf-8", errors="strict"))


def compiles(text):
    run("cc", "-std=c99", "-Wall", "-Wextra", "-Werror", "-fsyntax-only", "-x", "c", "-", input=text)


def read(path):
    return pathlib.Path(os.fsdecode(path)).read_bytes()


def error_names_the_place(source):
    done = run(FLC, "eval", b"./" + source, "-e", "main", input=b"[1] 5", status=1)
    assert b":2:46: error: Index [5] out of bounds" in done.stderr, done.stderr


def library(source, name):
    if any(byte in name for byte in (b'"', b"\\", b"\n", b"\r", b"?" + b"?")):
        refused = run(FLC, "lib", b"./" + source, status=1)
        assert b"no C file can include" in refused.stderr, refused.stderr
        run(FLC, "lib", b"./" + source, "-o", "plain")
        name = b"plain"
    else:
        run(FLC, "lib", b"./" + source)
    compiles(read(name + b".c"))
    compiles(b'#include "' + name + b'.h"\n')
    manifest = strict_json(read(name + b".json"))
    names = [entry["cfun"] for entry in manifest["entry_points"].values()]
    assert len(set(names)) == 4 and "fl_entry_main_" in names, names
    record = [kind["record"]["fields"] for kind in manifest["types"].values() if "record" in kind]
    assert all(len({field["project"] for field in fields}) == len(fields) for fields in record), record


def each_name(name, with_library):
    source = name + b".fl"
    pathlib.Path(os.fsdecode(source)).write_bytes(PROGRAM)
    run(FLC, "build", b"./" + source, "--emit-c", "-o", "p.c")
    compiles(read(b"p.c"))
    if with_library:
        library(source, name)
    strict_json(run(FLC, "tree", b"./" + source, "--format", "json").stdout)
    error_names_the_place(source)


def whole_executable(name):
    """One with everything in its name, from source to machine code."""
    source = name + b".fl"
    pathlib.Path(os.fsdecode(source)).write_bytes(PROGRAM)
    run(FLC, "build", b"./" + source)
    assert b"Usage" in run(b"./" + name, "--help").stdout
    strict_json(run(b"./" + name, "--tree", "--json").stdout)


def tuning(name):
    """The tuning file, the log and the page of a program and data sets with such names."""
    data, program = name + b".in", name + b".fl"
    scenario = {"program": {"guard": "main.top_0", "par": {"small": 16},
                            "then": {"version": "V0", "us": {"small": 9}, "fails": "wrong"},
                            "else": {"version": "V1", "us": {"small": 5}}}}
    pathlib.Path("scenario.json").write_text(json.dumps(scenario))
    pathlib.Path(os.fsdecode(data)).write_text("small")
    run(FLC, "tune", b"./" + program, "--program", f"{sys.executable} {SIMULATED} scenario.json 1", "--data",
        b"./" + data, "--report", "page.html", "--log", "log", "-o", "out.tuning", "--budget", "60")
    for line in pathlib.Path("out.tuning").read_bytes().decode("utf-8").splitlines():
        assert not line or line.startswith("--") or line.startswith("main.top_0="), line
    for line in pathlib.Path("log").read_bytes().splitlines():
        strict_json(line)
    page = pathlib.Path("page.html").read_bytes().decode("utf-8")
    assert "<b>" not in page and "<h1>" in page


def main():
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        os.environ["XDG_CACHE_HOME"] = folder + "/cache"
        for number, name in enumerate(NAMES):
            each_name(name, number % 4 < 2)
        together = b"".join(name for name in NAMES if b"\n" not in name).replace(b"/", b"_")
        for name in [together[:100], b"a\nmain.top_0=77\n<b>"]:
            whole_executable(name)
            tuning(name)
        assert not os.path.exists("x")


main()
