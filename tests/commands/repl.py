#!/usr/bin/env python3
"""What flc repl answers: repl.py FLC edited|plain.  "edited": it was built with an editor of lines."""
import os
import pathlib
import pty
import re
import select
import signal
import subprocess
import sys
import tempfile
import time


def session(flc, text, *files, folder=None):
    """Standard output and error of a session from a pipe."""
    done = subprocess.run([flc, "repl", *files], input=text, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                          cwd=folder, check=False, timeout=120)
    assert done.returncode == 0, done
    return done.stdout, done.stderr


def answers(flc, text, expected, *files, folder=None):
    out, err = session(flc, text, *files, folder=folder)
    assert out == expected, f"{text}\nexpected {expected}\ngot {out}\n{err}"
    return err


def expressions_have_values(flc, _):
    err = answers(flc, "1 + 2\n(1f32, {b = true, a = [1i8, 2]})\n[(1, 2.5), (3, 4)]\n[[1, 2], [3, 4]]\n()\n\n-- nothing\n"
                  "let x = 3 in x * x\n-5i64\n",
                  "3i32\n(1.0f32, {a = [1i8, 2i8], b = true})\n[(1i32, 2.5f64), (3i32, 4.0f64)]\n"
                  "[[1i32, 2i32], [3i32, 4i32]]\n()\n9i32\n-5i64\n")
    assert err == "", err


def texts_of_any_editor_are_read(flc, _):
    err = answers(flc, "\ufeff1 + 1\r\n:{\r\ndef f y =\r\n  y + 1\r\n:}\r\nf 2\r\n", "2i32\n3i32\n")
    assert err == "", err


def values_of_sum_types_and_empty_arrays(flc, _):
    answers(flc, "type u = #a i32 | #b [2]f32 | #c\n[#a 3 : u, #b [1, 2], #c]\ntype v = #d u bool | #e\n#d (#a 4) true : v\n"
            "[] : [0]i32\nfilter (> 3) (iota 3)\nmap (\\i -> (i, [i, i])) (filter (> 3) (iota 3))\n"
            "replicate 2 (filter (> 1f32) [])\n",
            "[#a 3i32, #b [1.0f32, 2.0f32], #c]\n#d (#a 4i32) true\nempty([0]i32)\nempty([0]i64)\n"
            "empty([0](i64, [2]i64))\nempty([2][0]f32)\n")


def definitions_are_kept_and_replaced(flc, _):
    err = answers(flc, "def x = 1i32\ndef f y = y + x\nf 3\ndef x = 2.5\nx\nf 3\nlet z = 4\nz + 1\n"
                  "module m = { type t = i32 def w : t = 3 }\nopen m\nw : m.t\ndef a = 1 def b = a + 1\nb\n"
                  "module type s = { type t val v : t }\nmodule n : s with t = i32 = { type t = i32 def v = 7i32 }\nn.v\n"
                  "entry main (i: i32) = i\nmain 9\n#[noinline] def g (i: i32) = i\ng 5\n"
                  "#[noinline]\n  entry (+^) (i: i32) (j: i32) = i - j\n\n3 +^ 1\n",
                  "4i32\n2.5f64\n4i32\n5i32\n3i32\n2i32\n7i32\n9i32\n5i32\n2i32\n")
    assert err == "", err


def patterns_define_several_names(flc, _):
    err = answers(flc, "let (a, b) = (1, 2)\na + b\nlet (a, {x = c, y}) = (b, {x = a, y = true})\n(a, b, c, y)\n"
                  "let (xs, ys) = partition (> 1) [1,\n  2, 3]\nys\nlet (u, v) = (3, 4) in u * v\nlet _ = 3\n"
                  "let (one, _) =\n  (5, 6)\n\none\n:{\nlet (d, e) = (6, 7)\nin d + e\n:}\n",
                  "3i32\n(2i32, 2i32, 1i32, true)\n[1i32]\n12i32\n5i32\n13i32\n")
    assert err == "", err
    err = answers(flc, "let x : f32 = 3\nlet (a : f32, b) = (x, 4)\n(a, b)\nlet [n] (xs: [n]i32) = [1, 2]\n(n, xs)\n"
                  "let (k : f32) =\n  3\n\nk\nlet v : #a | #b i32 = #b 3\nv\nlet _ : f32 = 3\nlet z : f32 = x in z\n",
                  "(3.0f32, 4i32)\n(2i64, [1i32, 2i32])\n3.0f32\n#b 3i32\n3.0f32\n")
    assert err == "", err
    err = answers(flc, "let (q : i32, r) = (zz, 3)\n", "")
    assert "[1]:2:21: error: unknown name `zz`" in err, err
    err = answers(flc, "let (p, q) = (1, zz)\nlet (p, q) = 1\n", "")
    assert "[1]:1:18: error: unknown name `zz`" in err and "[2]:" in err, err


def input_may_have_several_lines(flc, _):
    err = answers(flc, "def f x =\n  let y = x + 1\n  in y * 2\n\nf 3\nmap (+ 1) [1,\n 2,\n 3]\n1 +\n\n:{\nlet k = 3\nin k + 1\n:}\n"
                  "if true then 1\nelse 2\n", "8i32\n[2i32, 3i32, 4i32]\n4i32\n1i32\n")
    assert re.search(r"^\[4\]:\d+:\d+: error: expected an expression", err, re.M), err
    answers(flc, "1 +\n2", "3i32\n")


def types_are_told(flc, _):
    out, err = session(flc, "def xs = iota 3\n:type xs\n:t (1, true)\n:type f32.sqrt\n:type\nmap (+ 1)\n:type y\n")
    assert out.splitlines()[:3] == ["[3]i64", "(i32, bool)", "f32 -> f32"], out
    assert out.splitlines()[3].startswith("a function: ") and "->" in out.splitlines()[3], out
    assert "expected an expression behind :type" in err and "unknown name `y`" in err, err


def bytes_are_shown_as_text(flc, _):
    out, err = session(flc, "def name = \"sæt\"\n:string name ++ \"!\"\n:string [0x41, 0x42u8]\n:string iota 2\n:string\n:string \"\"\n{x = []}\n")
    assert out.splitlines() == ["sæt!", "AB", ""], out
    assert "error: the type of this value is open: {x: [0]a}\n" in err and "entry" not in err, err
    assert "only values of type []u8 are texts, this one has type *[2]i64" in err, err
    assert "expected an expression behind :string" in err, err


def mistakes_end_nothing(flc, _):
    out, err = session(flc, "foo\n1 +* 2\n[1, 2][5]\n1 / 0\ndef x : i32 = true\nx\n1 $\ndef 3 = 4\n:frob\n:\nassert (1 == 2) 3\n"
                       "let (a, b) = (1, 2)\n\n\"unfinished\n\x01\n7\n")
    assert out.endswith("7i32\n") and out.count("i32") == 1, out
    for place, message in (("[1]:1:1", "unknown name `foo`"), ("[3]:1:1", r"Index \[5\] out of bounds"), ("[4]:1:1", "division by zero"),
                           ("[5]:1:15", "expected"), ("[6]:1:1", "unknown name `x`")):
        assert re.search(rf"^{re.escape(place)}: error: .*{message}", err, re.M), (place, message, err)
    assert "error: unknown command :frob (there is :help)" in err, err


def places_are_those_of_the_input(flc, _):
    _, err = session(flc, "def f (xs: []i32) =\n  let y = xs[3]\n  in y\n\ndef unused x y = x\nf [1]\nf [true]\n")
    assert re.search(r"^\[1\]:2:11: error: Index \[3\] out of bounds", err, re.M), err
    assert "    2 |   let y = xs[3]\n" in err, err
    assert re.search(r"^\[4\]:1:3: error: ", err, re.M), err
    assert err.count("warning") <= 1, err


def files_are_loaded(flc, folder):
    pathlib.Path(folder, "sub").mkdir()
    pathlib.Path(folder, "sub/a b.fl").write_text('import "c"\ndef two = one + one\nentry main (x: i32) = x + two\n')
    pathlib.Path(folder, "sub/c.fl").write_text("def one = 1i32\n")
    pathlib.Path(folder, "bad.fl").write_text("def one = \n")
    answers(flc, "main 3\n:clear\nmain 3\n", "5i32\n", "sub/a b.fl", folder=folder)
    err = answers(flc, ":load sub/a b.fl\ntwo\n:load bad.fl\n:load absent.fl\n:load sub/c\n:load\ntwo\ndef two = 5\ntwo\n",
                  "2i32\n2i32\n5i32\n", folder=folder)
    for message in ("bad.fl:", "cannot read absent.fl", "expected the name of a program"):
        assert message in err, err


def a_file_that_is_not_there_ends_it(flc, folder):
    done = subprocess.run([flc, "repl", "absent.fl"], input="1\n", capture_output=True, text=True, cwd=folder)
    assert done.returncode == 1 and not done.stdout, done
    assert done.stderr == "error: cannot read absent.fl: No such file or directory\n", done


def commands(flc, _):
    out, _ = session(flc, ":help\n:quit\n1\n")
    assert ":load FILE" in out and ":type EXPRESSION" in out and "i32" not in out, out


# ---- on a terminal

class Terminal:
    def __init__(self, flc, home):
        self.shown = ""
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            environment = dict(os.environ, HOME=home, TERM="xterm", XDG_STATE_HOME=f"{home}/state", NO_COLOR="1")
            os.execve(flc, [flc, "repl"], environment)

    def type(self, text):
        os.write(self.fd, text.encode())

    def wait_for(self, text, seconds=60):
        end = time.time() + seconds
        while text not in self.shown:
            ready = select.select([self.fd], [], [], max(0, end - time.time()))[0]
            assert ready, f"{text!r} does not come: {self.shown!r}"
            try:
                self.shown += os.read(self.fd, 4096).decode(errors="replace")
            except OSError:
                raise AssertionError(f"ended before {text!r}: {self.shown!r}") from None
        self.shown = self.shown[self.shown.index(text) + len(text):]

    def cancel(self, text, prompt):
        """Ctrl-C behind a text.  The editor prints its prompt before it is ready: what is too early is lost."""
        for _ in range(10):
            self.type(text + "\x03")
            try:
                self.wait_for(prompt, 3)
                return
            except AssertionError:
                continue
        raise AssertionError(f"no prompt after Ctrl-C: {self.shown!r}")

    def end(self):
        try:
            while os.read(self.fd, 4096):
                pass
        except OSError:
            pass
        _, status = os.waitpid(self.pid, 0)
        os.close(self.fd)
        assert status == 0, status


def a_terminal_has_prompts_and_interrupts(flc, folder):
    t = Terminal(flc, folder)
    t.wait_for("[1]> ")
    t.type("40 + 2\r")
    t.wait_for("42i32")
    t.wait_for("[2]> ")
    t.type("loop i = 0i64 while i >= 0 do i64.abs (i % 7 + 1)\r")
    time.sleep(1)
    t.type("\x03")
    t.wait_for("interrupted")
    t.wait_for("[3]> ")
    t.cancel("1 +", "[3]> ")
    t.type("50 + 1\r")
    t.wait_for("51i32")
    t.wait_for("[4]> ")
    t.type(":quit\r")
    t.end()


def lines_come_back(flc, folder):
    home = f"{folder}/home"
    os.mkdir(home)
    t = Terminal(flc, home)
    t.wait_for("[1]> ")
    t.type("60 + 3\r")
    t.wait_for("63i32")
    t.wait_for("[2]> ")
    t.type("\x10\r")
    t.wait_for("63i32")
    t.wait_for("[3]> ")
    t.type(":quit\r")
    t.end()
    assert "60" in pathlib.Path(home, "state/flc/history").read_text(encoding="utf-8")
    t = Terminal(flc, home)
    t.wait_for("[1]> ")
    t.type("\x10\x10\r")  # the last one was :quit
    t.wait_for("63i32")
    t.wait_for("[2]> ")
    t.type(":quit\r")
    t.end()


def tab_completes_names(flc, folder):
    pathlib.Path(folder, "alone.fl").write_text("def loaded = 90i32\n")
    home = f"{folder}/home"
    os.mkdir(home)
    before = os.getcwd()
    os.chdir(folder)
    t = Terminal(flc, home)
    os.chdir(before)
    t.wait_for("[1]> ")
    t.type("def first_number = 60i32\r")
    t.wait_for("[2]> ")
    t.type("def first_letter = 'a'\r")
    t.wait_for("[3]> ")
    t.type("1 + first_n\t\r")
    t.wait_for("61i32")
    t.wait_for("[4]> ")
    t.type("fir\t\t")
    t.wait_for("first_letter")
    t.wait_for("first_number")
    t.type("\x15f32.sqr\t 16f32\r")
    t.wait_for("4.0f32")
    t.wait_for("[5]> ")
    t.type(":load al\t\r")
    t.wait_for("[5]> ")
    t.type("loa\t - 3\r")
    t.wait_for("87i32")
    t.wait_for("[6]> ")
    t.type(":quit\r")
    t.end()


def main(flc, editing):
    signal.alarm(280)
    checks = [expressions_have_values, texts_of_any_editor_are_read, values_of_sum_types_and_empty_arrays, definitions_are_kept_and_replaced,
              patterns_define_several_names, input_may_have_several_lines, types_are_told, bytes_are_shown_as_text, mistakes_end_nothing, places_are_those_of_the_input, files_are_loaded,
              a_file_that_is_not_there_ends_it, commands, a_terminal_has_prompts_and_interrupts]
    if editing == "edited":
        checks += [lines_come_back, tab_completes_names]
    for check in checks:
        with tempfile.TemporaryDirectory() as folder:
            check(flc, folder)
        print("ok", check.__name__)


main(*sys.argv[1:])
