#!/usr/bin/env python3
"""flc tune --range against programs whose times are known functions of sizes (surfaces.py).

usage: ranges.py FLC
"""
import json
import math
import pathlib
import re
import subprocess
import sys
import tempfile
import time

from surfaces import value, version_of

FLC = sys.argv[1]
HERE = pathlib.Path(__file__).resolve().parent
SIZES = ["n", "m"]


def guard(name, par, then, otherwise):
    return {"guard": name, "par": par, "then": then, "else": otherwise}


def version(name, us, **more):
    return {"version": name, "us": us, **more}


# Par tells the versions apart: V0 from n*m = 2000 on.
SEPARABLE = guard("main.top_0", "n*m", version("V0", "200 + n*m/40"), version("V1", "100 + n*m/13"))
# Par does not: V0 wins where m is at least about 30, whatever n is; V1 and V2 differ by n.
BY_OTHER_SIZES = guard(
    "main.top_0", "n", version("V0", "300 + n*m/60"),
    guard("main.intra_1", "n*m", version("V1", "60 + 8*m + n*m/60"), version("V2", "100 + 8*m + n*m/60 - 40*(n < 25)")))
BOX = "n=1:1000,m=1:1000"


def grid():
    steps = [round(1000 ** (k / 19)) for k in range(20)]
    return [{"n": n, "m": m} for n in steps for m in steps]


def versions_of(node):
    return versions_of(node["then"]) + versions_of(node["else"]) if "guard" in node else [node]


class Case:
    """A folder with a scenario and what tuning left there."""

    def __init__(self, folder, **scenario):
        self.folder = pathlib.Path(folder)
        self.scenario = {"sizes": SIZES, "points": str(self.folder / "points"), **scenario}
        (self.folder / "scenario.json").write_text(json.dumps(self.scenario))

    def tune(self, *options, seed=1, ranges=BOX):
        server = f"{sys.executable} {HERE / 'surfaces.py'} {self.folder / 'scenario.json'} {seed}"
        (self.folder / "points").write_text("")
        done = subprocess.run([FLC, "tune", str(self.folder / "p.fl"), "--program", server, "--range", ranges,
                               "--budget", "20", "--no-log", *options], capture_output=True, text=True,
                              timeout=100, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def settings(self):
        text = (self.folder / "p.fl.tuning").read_text()
        return {name: int(number) for name, number in re.findall(r"^([\w.@:*]+)=(\d+)$", text, re.M)}

    def points(self):
        lines = (self.folder / "points").read_text().splitlines()
        return list(dict.fromkeys(tuple(map(int, line.split())) for line in lines))

    def precision(self, settings=None):
        """The share of a grid where the chosen version is within 2 % of the fastest."""
        good = 0
        for sizes in grid():
            best = min(value(v["us"], sizes) for v in versions_of(self.scenario["program"]))
            chosen = version_of(self.scenario["program"], settings or self.settings(), sizes)
            good += value(chosen["us"], sizes) <= 1.02 * best
        return good / len(grid())


def thresholds_suffice_where_they_separate(folder):
    case = Case(folder, program=SEPARABLE, noise=0.05)
    output = case.tune("--max-points", "40")
    assert not [name for name in case.settings() if "@" in name], case.settings()
    assert case.precision() >= 0.96, (case.precision(), output)


def trees_decide_where_thresholds_cannot(folder):
    case = Case(folder, program=BY_OTHER_SIZES, noise=0.05)
    output = case.tune("--max-points", "80")
    settings = case.settings()
    assert [name for name in settings if re.fullmatch(r"main\.top_0@1:.*m.*", name)], settings
    assert case.precision() >= 0.9, (case.precision(), settings, output)
    # No thresholds do as well.
    plain = max(case.precision({"main.top_0": a, "main.intra_1": b})
                for a in (0, 10, 30, 100, 300, 2000) for b in (0, 100, 1000, 10000, 2000000))
    assert plain < 0.8, plain


def held_out_points_tell_the_precision(folder):
    case = Case(folder, program=BY_OTHER_SIZES, noise=0.02)
    output = case.tune("--max-points", "60", "--holdout", "60", "--report", str(case.folder / "t.html"))
    told = re.search(r"held-out points: (\d+); fastest version picked: ([\d.]+) % \(([\d.]+) to ([\d.]+) %\)", output)
    assert told and int(told.group(1)) == 60, output
    low, high = float(told.group(3)), float(told.group(4))
    assert low - 1 <= 100 * case.precision() <= high + 5, (case.precision(), output)
    assert "otherwise than predicted" not in output, output
    assert len(case.points()) == 120, len(case.points())
    page = (case.folder / "t.html").read_text()
    assert page.count("<svg") >= 3 and not re.search(r"(src|href)=.?(http|//)", page)


def constraints_hold_at_every_point(folder):
    case = Case(folder, program=SEPARABLE)
    case.tune("--max-points", "30", "--holdout", "20", ranges="n=1:1000,m=2:2^9:linear,n*m<=2^12,n+1>m-5")
    points = case.points()
    assert len(points) >= 40, len(points)
    assert all(n * m <= 4096 and n + 1 > m - 5 and 1 <= n <= 1000 and 2 <= m <= 512 for n, m in points), points


def the_seed_decides_the_points(folder):
    case = Case(folder, program=BY_OTHER_SIZES)
    runs = []
    for seed in ("5", "5", "6"):
        case.tune("--max-points", "25", "--seed", seed)
        runs.append((case.points(), case.settings()))
    assert runs[0] == runs[1]
    assert runs[0][0] != runs[2][0]
    logs = [math.log(n) for n, _ in runs[0][0]]
    assert 0.25 < sum(x < math.log(1000) / 2 for x in logs) / len(logs) < 0.75, logs


def works_without_races(folder):
    case = Case(folder, program=SEPARABLE, races=False)
    case.tune("--max-points", "30")
    assert case.precision() >= 0.9, case.precision()


def a_version_that_fails_is_not_chosen(folder):
    broken = guard("main.top_0", "n*m", version("V0", "1", fails="n > 20"), version("V1", "100 + n*m/13"))
    case = Case(folder, program=broken)
    output = case.tune("--max-points", "25")
    assert "it fails" in output, output
    assert case.settings()["main.top_0"] == 2**63 - 1, case.settings()


def mistakes_are_named(folder):
    source, gen = pathlib.Path(folder) / "q.fl", pathlib.Path(folder) / "gen.fl"
    source.write_text("entry main [n] [m] (xs: [n][m]f32) (k: i32) : [n]f32 = map (\\x -> f32.i32 k * f32.sum x) xs\n")
    gen.write_text("entry main (n: i64) (m: i64) : [n][m]f32 = replicate n (replicate m 1)\n")
    for options, message in [
        (["n=1:5"], "size m of parameter xs needs a range"),
        (["n=1:5,m=1:5,q=1:5"], "entry point main has no size or integer parameter q, only n, m, k"),
        (["n=5:1"], "--range n=5:1: the range is empty"),
        (["n=1:5,n=1:6"], "it has a range already"),
        (["n=1:5:cubic"], "expected nothing or :linear, found :cubic"),
        (["n=1:m"], "m: a range ends in numbers"),
        (["n=1:5,m=1:5,n*z<=5"], "constraint n*z<=5: z has no range"),
        (["n=1:5,m=1:5,n*m<=5)"], "constraint n*m<=5): unexpected )"),
        (["n*m<=5"], "expected NAME=LOW:HIGH"),
        (["n=100:500,m=100:500,n*m<=50"], "the constraints leave no point"),
        (["n=1:5,m=1:5", "--data", "x"], "--range and --data exclude each other"),
        (["n=1:5", "--gen", str(gen)], "parameter m of main needs a range"),
        (["n=1:5,m=1:5", "--gen", str(gen)], "they differ at number 2"),
    ]:
        done = subprocess.run([FLC, "tune", str(source), "--no-log", "--dry-run", "--range", *options],
                              capture_output=True, text=True, timeout=60, check=False)
        assert done.returncode == 1 and message in done.stderr, (options, done.stderr)
    done = subprocess.run([FLC, "tune", str(source), "--gen", str(gen)], capture_output=True, text=True, check=False)
    assert done.returncode == 1 and "--gen needs sizes" in done.stderr, done.stderr


def a_program_makes_the_inputs(folder):
    source, gen = pathlib.Path(folder) / "q.fl", pathlib.Path(folder) / "gen.fl"
    source.write_text("entry main [n] (p: {rows: [n][4]f32, factor: f32}) : [n]f32 =\n"
                      "  map (\\row -> p.factor * f32.sum row) p.rows\n")
    gen.write_text("entry main (n: i64) (seed: i64) : {rows: [n][4]f32, factor: f32} =\n"
                   "  {rows = tabulate_2d n 4 (\\i j -> f32.i64 (seed + i * j)), factor = 2}\n")
    done = subprocess.run([FLC, "tune", str(source), "--gen", str(gen), "--range", "n=1:100", "--no-log", "-q",
                           "--max-points", "13", "--budget", "150"], capture_output=True, text=True, timeout=200,
                          check=False)
    assert done.returncode == 0 and re.search(r"\b1[23] points measured", done.stdout), done


TESTS = [
    thresholds_suffice_where_they_separate, trees_decide_where_thresholds_cannot,
    held_out_points_tell_the_precision, constraints_hold_at_every_point, the_seed_decides_the_points,
    works_without_races, a_version_that_fails_is_not_chosen, mistakes_are_named, a_program_makes_the_inputs,
]


def main():
    failed = 0
    for test in TESTS:
        with tempfile.TemporaryDirectory() as folder:
            started = time.time()
            try:
                test(folder)
                print(f"ok    {test.__name__} ({time.time() - started:.1f} s)", flush=True)
            except (AssertionError, subprocess.SubprocessError) as problem:
                failed += 1
                print(f"FAIL  {test.__name__}: {problem}", flush=True)
    return 1 if failed else 0


sys.exit(main())
