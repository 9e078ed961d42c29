#!/usr/bin/env python3
"""The small program's command line and server: executable.py PROGRAM"""
import json
import os
import subprocess
import sys
import tempfile

PROGRAM = os.path.abspath(sys.argv[1])


def run(args, data="", status=0):
    if isinstance(data, str):
        data = data.encode()
    done = subprocess.run([PROGRAM, *args], input=data, capture_output=True, check=False)
    assert done.returncode == status, (args, done)
    return done


def check(got, expected):
    assert got == expected, f"expected {expected!r}, got {got!r}"


def command_line():
    check(run([], "[1.0, 2.5f32, -3]").stdout, b"[2.0f32, 3.5f32, -2.0f32]\n")
    check(run(["-n"], "[1.0]").stdout, b"")
    binary = run(["-b"], "[1.0]").stdout
    check(binary, b"b\2\1 f32\1\0\0\0\0\0\0\0\0\0\0\x40")
    check(run(["--entry-point=main"], b"  " + binary).stdout, b"[3.0f32]\n")
    check(run(["-econsume", "-r", "2"], "[1]").stdout, b"[2.0f32]\n")
    check(run(["-e", "pair"], "3").stdout, b"3i64\n[0i32, 1i32, 2i32]\n")
    check(run(["-e", "pair"], "0").stdout, b"0i64\nempty([0]i32)\n")
    check(run(["-e", "sum"], "\ufeff[1, 2, 3]\r\n").stdout, b"6i32\n")
    assert b"sum.intra_0: n >= t" in run(["--tree"]).stdout
    assert b"sum.intra_0 (threshold)" in run(["--print-params"]).stdout
    assert b"--load-opencl-binary" in run(["-h"]).stdout


def mistakes():
    failed = run(["-e", "get"], "[1, 2, 3] 7", 1).stderr
    assert b"small.fl:3:7: error: Index [7] out of bounds for array of shape [3]" in failed
    for args, data, text in [
        ([], "[1, x]", b"error: parameter xs: []f32: <stdin>:1:5: expected f32, found 'x'"),
        ([], "", b"error: parameter xs: []f32: expected a value, found the end of the input"),
        ([], "[1] [2]", b"error: expected the end of the input after 1 value, found more data"),
        (["-e", "none"], "", b"error: the program has no entry point `none`\nhint: its entry points are main, consume, get, sum, pair: choose"),
        (["--bogus"], "", b"unknown option --bogus (see --help)\n"),
        (["--devcie=x"], "", b"unknown option --devcie=x\nhint: did you mean --device?\n"),
        (["--entry=k"], "", b"hint: did you mean --entry-point?\n"),
        (["-q"], "", b"unknown option -q (see --help)\n"),
        (["--"], "", b"unknown option -- (see --help)\n"),
        (["-r", "x"], "", b"--runs: expected a number, found x"),
        (["--param", "a=1"], "", b"the program has no parameter a"),
        (["--path", "a=T"], "", b"--path: expected GUARD=T or GUARD=F"),
        (["-e"], "", b"option --entry-point needs NAME"),
        (["-d", "none"], "", b'no OpenCL device matches device "none"; there are #0 '),
        (["-d", "none", "-p", "x"], "", b'matches device "none", platform "x"; there are #0 '),
        ([], "[1, NaN]", b"expected f32, found 'NaN'\nhint: write `f32.nan`\n"),
        ([], "[-Infinity]", b"expected f32, found '-Infinity'\nhint: write `-f32.inf`\n"),
        ([], "[-1e5f]", b"expected f32, found '-1e5f'\nhint: the suffix of its type is `f32`: `-1e5f32`\n"),
        (["-e", "pair"], "(3)", b"found '('\nhint: the values of a tuple follow one another, without brackets\n"),
        (["-e", "pair"], "{3}", b"found '{'\nhint: the fields of a record follow one another, without braces and names\n"),
        (["-e", "pair"], "#a", b"found '#'\nhint: the number of a constructor comes first, from 0 on, then what all of them hold\n"),
        ([], "\ufeff[1, x]", b"<stdin>:1:5: expected f32, found 'x'"),
        (["-e", "pair"], b"\xff\xfe3\0", b"found byte 0xff: this is UTF-16, where UTF-8 is read"),
        (["-e", "pair"], b"\x93NUMPY\1\0v\0{}", b"found byte 0x93: this is a file of NumPy"),
        (["-e", "pair"], "3L", b"found '3L'\nhint: the suffix of its type is `i64`: `3i64`\n"),
    ]:
        got = run(args, data, 1).stderr
        assert text in got, (args, got)


def decisions_by_sizes(tuning):
    """A tree over the threshold: node 1 asks for n, node 3 for n again, what is left out is plain."""
    lines = "sum.intra_0=2\nsum.intra_0@1:n=4\nsum.intra_0@3:n=6\nsum.intra_0@6=77\nsum.intra_0@1:k=4\n"
    with open(tuning, "w", encoding="ascii") as out:
        out.write(lines)
    for values, threshold in [("[1, 2, 3]", 2), ("[1, 2, 3, 4]", 77), ("[1, 2, 3, 4, 5, 6]", 2)]:
        log = run(["-e", "sum", "-L", "--tuning", tuning], values).stderr
        assert f"threshold {threshold}, ".encode() in log, (values, threshold, log)
        assert b"no parameter sum.intra_0@1:k" in log, log
    log = run(["-e", "sum", "-L", "--tuning", tuning, "--param", "sum.intra_0=5"], "[1, 2, 3, 4]").stderr
    assert b"threshold 5, " in log, log


def files(folder):
    times, tuning = f"{folder}/times", f"{folder}/t.tuning"
    run(["-r", "5", "-t", times], "[1]")
    with open(times, encoding="ascii") as lines:
        check(len([int(line) for line in lines]), 5)
    with open(tuning, "w", encoding="ascii") as out:
        out.write("-- made for a test\n\nsum.intra_0=2 -- low\nold.name=3\n")
    done = run(["-e", "sum", "-L", "--tuning", tuning], "[1, 2, 3]")
    assert b"par 3, threshold 2, local memory 256 bytes: taken" in done.stderr, done.stderr
    assert b"no parameter old.name" in done.stderr, done.stderr
    decisions_by_sizes(tuning)
    log = run(["-e", "sum", "-L", "--path", "sum.intra_0=F"], "[1, 2, 3]").stderr
    assert b"forced: not taken" in log, log
    opencl = f"{folder}/k.cl"
    run(["--dump-opencl", opencl], "[1]")
    with open(opencl, encoding="ascii") as text:
        changed = text.read().replace("flc_add_f32(xs[i], 1.0f)", "flc_add_f32(xs[i], 2.0f)")
    with open(opencl, "w", encoding="ascii") as out:
        out.write(changed)
    check(run(["--load-opencl", opencl], "[1]").stdout, b"[3.0f32]\n")
    binary = f"{folder}/k.bin"
    run(["--dump-opencl-binary", binary], "[1]")
    loaded = ["--cache-file=", "--load-opencl-binary", binary, "-L"]
    assert b"build add_one: cached" in run(loaded, "[1]").stderr
    report = json.loads(run(["-P", "--json"], "[1]").stderr)
    check(report["kernels"][0]["name"], "add_one")


class Server:
    def __init__(self):
        self.process = subprocess.Popen(
            [PROGRAM, "--server"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        check(self.reply(), [])

    def reply(self):
        lines = []
        while (line := self.process.stdout.readline().rstrip("\n")) != "%%% OK":
            assert line or not self.process.poll(), "the server has ended"
            lines.append(line)
        return lines

    def ask(self, command):
        self.process.stdin.write(command + "\n")
        self.process.stdin.flush()
        return self.reply()

    def expect(self, command, *lines):
        check(self.ask(command), list(lines))


def sums(s):
    """Values of a sum type, of the variables i and ys."""
    s.expect("variants option", "many", "- []i32", "none", "one", "- i64")
    s.expect("construct sum_many option many ys")
    s.expect("construct sum_none option none")
    s.expect("construct sum_one option one i")
    s.expect("variant sum_none", "none")
    s.expect("destruct sum_none")
    s.expect("destruct sum_one sum_i")
    s.expect("type sum_i", "i64")
    s.expect("destruct sum_many sum_ys")
    s.expect("shape sum_ys", "2")
    s.expect("construct sum_two option two", "%%% FAILURE", "no such variant: two")
    s.expect("construct sum_two option one ys", "%%% FAILURE", "a field of another type: ys")
    s.expect("construct sum_two option one", "%%% FAILURE", "expected 1 fields")
    s.expect("destruct sum_one sum_a sum_b", "%%% FAILURE", "#one holds 1 values")
    s.expect("destruct sum_one ys", "%%% FAILURE", "variable already exists: ys")
    s.expect("variants i64", "%%% FAILURE", "not a sum type: i64")
    s.expect("destruct i sum_a", "%%% FAILURE", "not a sum type: i64")
    s.expect("free sum_many sum_none sum_one sum_i sum_ys")


def arrays_of_records(s):
    """Made of the variables floats and ys, of one and two elements."""
    s.expect("fields []point", "x []f32", "y []i32")
    s.expect("rank []point", "1")
    s.expect("elemtype []point", "point")
    s.expect("zip points []point floats ys", "%%% FAILURE", "the arrays of x and y differ in size")
    s.expect("new_array one_y []i32 1 seven")
    s.expect("zip points []point floats one_y")
    s.expect("shape points", "1")
    s.expect("index point points 0")
    s.expect("project point_y point y")
    s.expect("type point_y", "i32")
    s.expect("index q_point points", "%%% FAILURE", "expected 1 indices")
    s.expect("new_array twice []point 2 point point")
    s.expect("shape twice", "2")
    s.expect("set twice seven 1", "%%% FAILURE", "seven: expected point, found i32")
    s.expect("set twice point 2", "%%% FAILURE", "Index [2] out of bounds for dimension 0 of size 2")
    s.expect("set twice point 1")
    s.expect("new_array once []point 2 point", "%%% FAILURE", "expected 2 values, found 1")
    s.expect("unzip points point_xs point_xs", "%%% FAILURE", "variable already exists: point_xs")
    s.expect("unzip points point_xs point_ys")
    s.expect("shape point_ys", "1")
    s.expect("unzip i point_a", "%%% FAILURE", "not an array of records: i")
    s.expect("shape nowhere", "%%% FAILURE", "unknown variable: nowhere")
    s.expect("free twice points point point_y point_xs point_ys one_y")


def server(folder):
    s = Server()
    s.expect("types", "[]f32", "[]i32", "i64", "i32", "(i64, []i32)", "u8", "option", "point", "[]point", "f32")
    s.expect("entry_points", "main", "consume", "get", "sum", "pair")
    s.expect("inputs consume", "*[]f32")
    s.expect("output pair", "*(i64, []i32)")
    s.expect("attributes pair", "fast")
    s.expect("tuning_params sum", "sum.intra_0 threshold")
    s.expect("tuning_param_class pair.tile_1", "tile_size")
    for name, kind in [("i64", "primitive"), ("[]f32", "array"), ("option", "sum"), ('"(i64, []i32)"', "record")]:
        s.expect(f"kind {name}", kind)
    path = f"{folder}/with space.in"
    with open(path, "w", encoding="ascii") as out:
        out.write("[10, 20, 30] 1i64 7")
    s.expect(f'restore "{path}" xs []i32 i i64 seven i32')
    with open(f"{folder}/floats.in", "w", encoding="ascii") as out:
        out.write("[1.5f32]")
    s.expect(f"restore {folder}/floats.in floats []f32")
    assert s.ask("call get out xs i")[0].startswith("runtime: ")
    s.expect("index first out 0")
    s.expect(f"store {folder}/first.out first")
    with open(f"{folder}/first.out", "rb") as stored:
        check(stored.read(), b"b\2\0 i32\x14\0\0\0")
    s.expect("set xs seven 2")
    s.expect("shape xs", "3")
    assert s.ask("call sum total xs")[0].startswith("runtime: ")
    s.expect("type total", "i32")
    # Clients may open the file before it is written.
    with open(f"{folder}/total.out", "w+b") as stored:
        s.expect(f"store {folder}/total.out total")
        check(stored.read()[-4:], bytes([37, 0, 0, 0]))
    s.expect("rename total sum_of_xs")
    s.expect("new_array ys []i32 2 seven sum_of_xs")
    s.expect("rank []i32", "1")
    s.expect("elemtype []i32", "i32")
    s.expect('fields "(i64, []i32)"', "0 i64", "1 []i32")
    s.expect('new p "(i64, []i32)" i ys')
    s.expect("project q p 1")
    s.expect("shape q", "2")
    sums(s)
    arrays_of_records(s)
    # What shares its memory with others is copied before it is changed.
    s.expect("set q sum_of_xs 0")
    s.expect("project r p 1")
    s.expect("index unchanged r 0")
    s.expect(f"store {folder}/unchanged.out unchanged")
    with open(f"{folder}/unchanged.out", "rb") as stored:
        check(stored.read()[-4:], bytes([7, 0, 0, 0]))
    s.expect(f"store {folder}/p.out p")
    s.expect(f'restore {folder}/p.out again "(i64, []i32)"')
    s.expect("set_tuning_param sum.intra_0 2")
    check(s.ask("tuning_param_value sum.intra_0"), ["2"])
    s.expect("set_tuning_param sum.intra_0 default")
    check(s.ask("tuning_param_value sum.intra_0")[0] != "2", True)
    check(s.ask("set_tuning_param nothing default")[0], "%%% FAILURE")
    s.expect("set_tuning_param sum.intra_0 2")
    s.expect("set_path sum.intra_0=F")
    s.ask("call sum forced xs")
    check(json.loads("\n".join(s.ask("report")))["guards"][0]["taken"], False)
    s.expect("set_path")
    s.expect("code cpu quick")
    check("%%% FAILURE" in s.ask("call sum quick xs"), False)
    s.expect("code cpu")
    check(s.ask("code cpu slowly quick")[0], "%%% FAILURE")
    race = json.loads("\n".join(s.ask("race sum 3 xs - sum.intra_0=F")))
    check(race["sizes"], {"n": 3})
    check([len(path["us"]) for path in race["paths"]], [3, 3])
    check([path["guards"][0]["taken"] for path in race["paths"]], [True, False])
    check([len(path["at_us"]) for path in race["paths"]], [3, 3])
    race = json.loads("\n".join(s.ask("race main 2 floats -")))
    check(race["paths"][0]["guards"], [])
    s.ask("race consume 2 floats -")
    s.expect("shape floats", "1")
    for command, text in [
        ("nonsense", "unknown command: nonsense"),
        ("type nothing", "unknown variable: nothing"),
        ("call none x", "unknown entry point: none"),
        ("call sum xs xs", "variable already exists: xs"),
        ("call sum x i", "input 0 of sum: expected []i32, found i64"),
        ("index x xs 3", "Index [3] out of bounds for dimension 0 of size 3"),
        ("kind", "wrong number of words for: kind"),
        ("rank i32", "not an array type: i32"),
        ("race sum 0 xs -", "race takes an entry point, rounds, 1 inputs, and paths"),
        ("race sum 1 xs", "race takes an entry point, rounds, 1 inputs, and paths"),
        ("race sum 1 i -", "input 0 of sum: expected []i32, found i64"),
        ("race sum 1 xs sum.none=T", "expected GUARD=T, GUARD=F, or settings of this program: sum.none=T"),
        (f"restore {folder}/none x i32", f"cannot read {folder}/none: No such file or directory"),
    ]:
        s.expect(command, "%%% FAILURE", text)
    s.expect("restore " + path.join('""') + " a []i32 j i64 k i32")
    s.expect("call get x xs seven", "%%% FAILURE", "input 1 of get: expected i64, found i32")
    s.expect("pause_profiling")
    s.expect("unpause_profiling")
    s.expect("clear")
    s.expect("free xs i seven out first ys p q r unchanged again forced a j k sum_of_xs")
    s.process.stdin.close()
    check(s.process.wait(), 0)


def full_disk(folder):
    """The driver's cache is elsewhere then.  (Where no such disk can be mounted, this is left out.)"""
    if subprocess.run(["unshare", "-rm", "true"], check=False, stderr=subprocess.DEVNULL).returncode != 0:
        return
    script = "mount -t tmpfs -o size=64k tmpfs $XDG_CACHE_HOME || exec cat; exec $0"
    environment = {name: value for name, value in os.environ.items() if name != "POCL_CACHE_DIR"}
    environment |= {"XDG_CACHE_HOME": f"{folder}/small", "TMPDIR": folder}
    os.mkdir(f"{folder}/small")
    done = subprocess.run(["unshare", "-rm", "sh", "-c", script, PROGRAM], input=b"[1f32]", env=environment,
                          capture_output=True, check=False)
    assert done.stdout in (b"[2.0f32]\n", b"[1f32]") and done.returncode == 0, done


def main():
    with tempfile.TemporaryDirectory() as folder:
        command_line()
        full_disk(folder)
        mistakes()
        files(folder)
        server(folder)


main()
