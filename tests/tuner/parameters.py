#!/usr/bin/env python3
"""Every parameter of a kernel gives the same results, whatever its value; values out of range are refused.

usage: parameters.py FLC
"""
import pathlib
import re
import subprocess
import sys
import tempfile

FLC = sys.argv[1]

# Whole numbers, so that the order of additions does not show.
PROGRAM = """
-- Reductions, scans, filters, histograms; sums per row and per column; a product; a stencil.
entry numbers [n] (xs: [n]i32) : (i32, [n]i32, []i32, [7]i32, (i32, i32)) =
  (i32.sum (map (\\x -> x * x + 1) xs), scan (+) 0 xs, filter (\\x -> x % 3 == 0) xs,
   hist (+) 0 7 (map (\\x -> i64.i32 x % 7) xs) xs,
   reduce (\\(a, b) (c, d) -> (a * c, b * c + d)) (1, 0) (map (\\x -> (x % 3, x)) xs))

entry matrix [n][m] (xss: [n][m]i32) : ([n]i32, [m]i32, [n][n]i32, [n][m]i32) =
  let at i j = xss[i64.max 0 (i64.min (n - 1) i), i64.max 0 (i64.min (m - 1) j)]
  in (map i32.sum xss, map i32.sum (transpose xss),
      map (\\a -> map (\\b -> i32.sum (map2 (*) a b)) xss) xss,
      map (\\i -> map (\\j -> at (i - 1) j + at (i + 1) j + at i (j - 1) * at i (j + 1)) (iota m)) (iota n))
"""

SHAPES = [(1, 3), (37, 70)]


def numbers(count):
    return "[" + ", ".join(str(i * 7919 % 101) for i in range(count)) + "]" if count else "empty([0]i32)"


def rows(n, m):
    if n == 0:
        return f"empty([0][{m}]i32)"
    return "[" + ", ".join(numbers(m + 0) if m else "[]" for _ in range(n)) + "]"


def call(program, entry, value, *settings):
    words = [program, "-e", entry]
    for setting in settings:
        words += ["--param", setting]
    return subprocess.run(words, input=value, capture_output=True, text=True, timeout=120, check=False)


def parameters(program):
    listed = subprocess.run([program, "--print-params"], capture_output=True, text=True, check=True).stdout
    return re.findall(r"^(\S+) \((\w+)\)", listed, re.M)


class Server:
    """One process for all runs: the device compiles what changes."""

    def __init__(self, program, folder):
        self.folder = folder
        self.process = subprocess.Popen([program, "--server"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.reply()

    def reply(self):
        """Whether the command succeeded, and what it said."""
        lines, good = [], True
        for line in self.process.stdout:
            if line == "%%% OK\n":
                return good, "".join(lines)
            if line == "%%% FAILURE\n":
                good = False
            else:
                lines.append(line)
        raise AssertionError("the server has ended")

    def ask(self, line):
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()
        return self.reply()

    def do(self, line):
        good, text = self.ask(line)
        assert good, (line, text)
        return text

    def put(self, name, entry, value):
        (self.folder / "in").write_text(value)
        self.do(f"restore {self.folder / 'in'} {name} {self.do(f'inputs {entry}').strip()}")

    def call(self, entry, name):
        self.do(f"call {entry} out {name}")
        self.do(f"store {self.folder / 'out'} out")
        self.do("free out")
        return (self.folder / "out").read_bytes()

    def close(self):
        self.process.stdin.close()
        assert self.process.wait(timeout=120) == 0


def values_of(server, name, kind):
    """Recipes: all there are; else small, usual, and far too large numbers."""
    if kind != "recipe":
        return [3, 1000] if name.endswith((".items", ".groups")) else [1, 2**40]
    count = 1
    while server.ask(f"set_tuning_param {name} {count}")[0]:
        count += 1
    assert 3 <= count <= 9, (name, count)
    return range(1, count)


def check(program, folder):
    data = {"numbers": {"xs": numbers(9000)},
            "matrix": {f"xss{i}": rows(n, m) for i, (n, m) in enumerate(SHAPES)}}
    server, expected, runs = Server(program, folder), {}, 0
    for entry, inputs in data.items():
        for name, value in inputs.items():
            server.put(name, entry, value)
            expected[name] = server.call(entry, name)
            assert expected[name]
    for param, kind in parameters(program):
        entry = param.split(".")[0]
        if entry not in data or kind == "threshold" or param.count(".") < 2:
            continue
        before = server.do(f"tuning_param_value {param}").split()[0]
        for value in values_of(server, param, kind):
            server.do(f"set_tuning_param {param} {value}")
            for name in data[entry]:
                got = server.call(entry, name)
                assert got == expected[name], (param, value, name, got[:200])
                runs += 1
        server.do(f"set_tuning_param {param} {before}")
    server.close()
    return runs


def refuses(program):
    kinds = dict((kind, name) for name, kind in parameters(program) if name.count(".") == 2)
    for setting, message in [
            (f"{kinds['chunk']}=0", "wants a number from 1 on, found 0"),
            (f"{kinds['chunk']}=-5", "wants a number from 1 on, found -5"),
            (f"{kinds['grid_size']}={2**41}", "wants a smaller number"),
            (f"{kinds['recipe']}=0", "wants the number of one of its recipes, found 0"),
            (f"{kinds['recipe']}=99", "wants the number of one of its recipes, found 99"),
            ("numbers.segred_99.chunk=3", "the program has no parameter numbers.segred_99.chunk")]:
        got = call(program, "numbers", numbers(3), setting)
        assert got.returncode == 1 and message in got.stderr, (setting, got.stderr)


def passes_over_unknown_names(program, folder):
    tuning = folder / "old.tuning"
    tuning.write_text("numbers.segred.chunk=7\nnumbers.segred_99.chunk=3\nnumbers.segmap_99.recipe=2\n")
    got = subprocess.run([program, "-e", "numbers", "--tuning", str(tuning)], input=numbers(9),
                         capture_output=True, text=True, check=True)
    assert "old.tuning:2: the program has no parameter numbers.segred_99.chunk" in got.stderr, got.stderr
    assert "old.tuning:3: the program was built without numbers.segmap_99.recipe" in got.stderr, got.stderr
    assert got.stdout == call(program, "numbers", numbers(9)).stdout


def follows_what_the_program_sets(program):
    commands = ("tuning_param_value numbers.segred.chunk\nset_tuning_param segred_chunk 99\n"
                "tuning_param_value numbers.segred.chunk\nset_tuning_param numbers.segred.chunk 5\n"
                "tuning_param_value numbers.segred.chunk\n")
    got = subprocess.run([program, "--server"], input=commands, capture_output=True, text=True, check=True)
    assert re.findall(r"^\d+$", got.stdout, re.M) == ["4096", "99", "5"], got.stdout


def main():
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        (folder / "p.fl").write_text(PROGRAM)
        program = str(folder / "p")
        subprocess.run([FLC, "build", str(folder / "p.fl"), "--other-recipes", "-o", program], check=True)
        refuses(program)
        passes_over_unknown_names(program, folder)
        follows_what_the_program_sets(program)
        print(f"{check(program, folder)} runs")


main()
