#!/usr/bin/env python3
"""The second process that helps to compile kernels (runtime/helper.h): helper.py FLC

Results are the same with it and without, when it is killed, and where there is no cache; it does not
outlive the first process.  Exit status 77 (skipped) without two cores or PoCL.
"""
import os
import signal
import subprocess
import sys
import tempfile
import time

FLC = os.path.abspath(sys.argv[1])
PROGRAM = """
entry main (k: i64) (xs: []f64) : ([]f64, f64, i64) =
  let ys = scan (+) 0 (map (\\x -> f64.exp (f64.sin x)) xs)
  let large = filter (> 2) ys
  let n = length large
  let s = loop s = 0.0 for i < k do s + f64.sum (map (\\y -> f64.cos (y * f64.i64 i)) large)
  in (large, s, n)
"""
INPUT = b"3i64 [1.0, 2.0, 3.0, 4.0]"
HELPS = b"a second process helps to compile"


def cold(folder, **more):
    """An environment without kernels that were compiled before."""
    cache = tempfile.mkdtemp(dir=folder)
    return {**os.environ, "XDG_CACHE_HOME": cache, "HOME": cache, "POCL_CACHE_DIR": cache + "/pocl", **more}


def run(program, environment, *options):
    done = subprocess.run([program, "--log", *options], input=INPUT, capture_output=True, env=environment, check=False)
    return done.returncode, done.stdout, done.stderr


def start(program, environment):
    """The process, and the number of its helper."""
    process = subprocess.Popen([program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment)
    process.stdin.write(INPUT)
    process.stdin.close()
    while process.poll() is None:
        for thread in os.listdir(f"/proc/{process.pid}/task"):
            try:
                with open(f"/proc/{process.pid}/task/{thread}/children", encoding="ascii") as file:
                    for child in file.read().split():
                        with open(f"/proc/{child}/cmdline", "rb") as words:
                            if b"\0--helper\0" in words.read():
                                return process, int(child)
            except FileNotFoundError:
                pass
        time.sleep(0.002)
    raise AssertionError("no helper was seen")


def is_alive(pid):
    """Does it run?  Whoever inherits it may leave it as a zombie."""
    try:
        with open(f"/proc/{pid}/stat", encoding="ascii") as file:
            return file.read().rsplit(")", 1)[1].split()[0] not in "ZX"
    except FileNotFoundError:
        return False


def check(program, folder):
    status, expected, log = run(program, cold(folder), "--one-process")
    if b"device pthread" not in log and b"device cpu" not in log:
        sys.exit(77)
    assert status == 0 and HELPS not in log, log
    status, out, log = run(program, cold(folder))
    assert (status, out) == (0, expected) and HELPS in log, log
    status, out, log = run(program, cold(folder, POCL_KERNEL_CACHE="0"))
    assert (status, out) == (0, expected) and HELPS not in log, log
    process, helper = start(program, cold(folder))
    os.kill(helper, signal.SIGKILL)
    assert process.stdout.read() == expected and process.wait() == 0
    process, helper = start(program, cold(folder))
    process.kill()
    process.wait()
    process.stdout.close()
    for _ in range(1000):
        if not is_alive(helper):
            return
        time.sleep(0.01)
    raise AssertionError("the helper outlives the first process")


def main():
    if len(os.sched_getaffinity(0)) < 2:
        sys.exit(77)
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        source, program = f"{folder}/p.fl", f"{folder}/p"
        with open(source, "w", encoding="utf-8") as file:
            file.write(PROGRAM)
        subprocess.run([FLC, "build", source], check=True)
        check(program, folder)


main()
