#!/usr/bin/env python3
"""What a terminal shows while kernels are compiled, and that nothing else does: progress.py FLC

Exit status 77 (skipped) without an OpenCL device.
"""
import os
import pty
import re
import subprocess
import sys
import tempfile

FLC = os.path.abspath(sys.argv[1])
PROGRAM = """-- ==
-- "ones" input { [1, 2] } output { [2, 3] }
entry main (xs: []i32) : []i32 = map (+ 1) xs
"""


def at_terminal(folder, *words, data=b"", watched=2):
    """What the command writes to a terminal: its standard error, or both."""
    environment = {**os.environ, "XDG_CACHE_HOME": f"{folder}/{len(os.listdir(folder))}", "HOME": folder}
    os.mkdir(environment["XDG_CACHE_HOME"])
    environment["POCL_CACHE_DIR"] = environment["XDG_CACHE_HOME"] + "/pocl"
    master, slave = pty.openpty()
    with subprocess.Popen(words, stdin=subprocess.PIPE, stderr=slave, env=environment,
                          stdout=slave if watched == 1 else subprocess.PIPE) as process:
        os.close(slave)
        process.stdin.write(data)
        process.stdin.close()
        shown = b""
        try:
            while more := os.read(master, 4096):
                shown += more
        except OSError:  # the last one has closed it
            pass
        assert process.wait() == 0, shown
    os.close(master)
    return shown.decode()


def left_on_screen(shown):
    """The text after all returns to the start of the line and erasures."""
    lines = [line.split("\r")[-1].replace("\x1b[K", "") for line in shown.replace("\r\n", "\n").split("\n")]
    return "\n".join(lines).strip()


def main():
    with tempfile.TemporaryDirectory() as folder:
        source, program = f"{folder}/p.fl", f"{folder}/p"
        with open(source, "w", encoding="utf-8") as file:
            file.write(PROGRAM)
        subprocess.run([FLC, "build", source], check=True)
        tried = subprocess.run([program], input=b"[1]", capture_output=True, check=False)
        if b"no OpenCL" in tried.stderr:
            sys.exit(77)
        assert b"compiling" not in tried.stderr + tried.stdout
        pattern = r"compiling kernel 1 of \d+"
        shown = at_terminal(folder, program, data=b"[1, 2]")
        assert re.search(pattern, shown) and left_on_screen(shown) == "", shown
        shown = at_terminal(folder, program, "-L", data=b"[1, 2]")
        assert not re.search(pattern, shown) and "build segmap" in shown, shown
        shown = at_terminal(folder, FLC, "run", source, data=b"[1, 2]")
        assert re.search(pattern, shown) and "compiling the program" in shown, shown
        assert left_on_screen(shown) == "", shown
        shown = at_terminal(folder, FLC, "bench", "-r", "1", source)
        assert re.search("p.fl ones: " + pattern, shown) and left_on_screen(shown) == "", shown
        shown = at_terminal(folder, FLC, "test", source, watched=1)
        assert re.search("0 of 1 programs, 0 failed; p.fl: " + pattern, shown), shown
        assert re.fullmatch(r"\d+ passed, 0 failed", left_on_screen(shown)), shown


main()
