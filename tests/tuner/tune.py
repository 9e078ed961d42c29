#!/usr/bin/env python3
"""flc tune against simulated programs whose times are known (simulated.py).

usage: tune.py FLC
"""
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import time

FLC = sys.argv[1]
HERE = pathlib.Path(__file__).resolve().parent
NEVER = 2**63 - 1
PAR = {"small": 16, "middle": 256, "large": 4096}


def version(name, small, middle, large, **more):
    return {"version": name, "us": {"small": small, "middle": middle, "large": large}, **more}


def guard(name, then, otherwise, par=None):
    return {"guard": name, "par": par or PAR, "then": then, "else": otherwise}


def program(**fails):
    """Two regions side by side, one in a loop.  Best: top for large, intra for middle, else V2;
    in the loop V3 for small only, which no threshold can say, so V4 for all."""
    def leaf(name, *times):
        return version(name, *times, **fails.get(name, {}))
    first = guard("main.top_0", leaf("V0", 900, 700, 300),
                  guard("main.intra_1", leaf("V1", 400, 200, 800), leaf("V2", 100, 500, 900)))
    second = guard("main.top_2", leaf("V3", 10, 90, 90), leaf("V4", 40, 20, 20))
    return {"seq": [first, {"loop": 5, "body": second}]}


BEST = {"main.top_0": (257, 4096), "main.intra_1": (17, 256), "main.top_2": (4097, NEVER)}


class Case:
    """A folder with a scenario, data sets and what tuning left there."""

    def __init__(self, folder, **scenario):
        self.folder = pathlib.Path(folder)
        self.calls_file = self.folder / "calls"
        scenario.setdefault("program", program())
        self.races_file = self.folder / "races"
        self.scenario = {"calls": str(self.calls_file), "races": str(self.races_file), **scenario}
        self.write_scenario()
        for name in PAR:
            (self.folder / name).write_text(name)

    def write_scenario(self):
        (self.folder / "scenario.json").write_text(json.dumps(self.scenario))

    def command(self, *options, seed=1):
        server = f"{sys.executable} {HERE / 'simulated.py'} {self.folder / 'scenario.json'} {seed}"
        data = [word for name in PAR for word in ("--data", str(self.folder / name))]
        return [FLC, "tune", str(self.folder / "p.fl"), "--program", server, *data,
                "--short", "0", *options]

    def tune(self, *options, seed=1, status=0):
        done = subprocess.run(self.command(*options, seed=seed), capture_output=True, text=True,
                              timeout=120, check=False)
        assert done.returncode == status, done.stdout + done.stderr
        return done.stdout

    def settings(self):
        text = (self.folder / "p.fl.tuning").read_text()
        return {name: int(value) for name, value in re.findall(r"^([\w.]+)=(\d+)$", text, re.M)}

    def calls(self):
        return self.calls_file.read_text().splitlines() if self.calls_file.exists() else []

    def races(self):
        """Raced runs since the last time: data set, guard, alternative."""
        found = self.races_file.read_text().splitlines() if self.races_file.exists() else []
        self.races_file.unlink(missing_ok=True)
        return found


def check_settings(settings, expected):
    for name, (low, high) in expected.items():
        assert low <= settings[name] <= high, (name, settings[name], low, high)


def chooses_the_best_in_few_runs(folder):
    case = Case(folder)
    output = case.tune()
    check_settings(case.settings(), BEST)
    # The reference, the races, and twice two to verify where other versions run than by default; at most
    # as many as there are versions, and two, for each data set.
    assert len(case.calls()) == 3 * (1 + 1) + 2 * 4 <= 3 * (3 + 2), len(case.calls())
    assert "small: +" in output and "not separable" in output, output


def runs_more_than_twice_what_decides_nothing(folder):
    case = Case(folder, program=version("V0", 900, 700, 300))
    case.tune()
    assert len(case.calls()) >= 3 * 6, len(case.calls())


def forces_versions_in_whole_runs(folder):
    case = Case(folder)
    case.tune("--no-replay")
    check_settings(case.settings(), BEST)
    # The reference, the three covering runs, and verification.
    assert len(case.calls()) == 3 * (1 + 3) + 2 * 4, len(case.calls())


def forces_versions_where_there_is_no_replay(folder):
    case = Case(folder, replay=False)
    case.tune()
    check_settings(case.settings(), BEST)


def whole_runs_have_the_last_word(folder):
    case = Case(folder, bias={"V1": 0.1})
    output = case.tune()
    check_settings(case.settings(), BEST)
    assert "contradicted" in output, output


def whole_runs_also_judge_where_versions_go_by_work(folder):
    # Best: V1 everywhere, which the defaults take by work; races take V2 for faster than it is.
    tree = guard("main.intra_0", version("V1", 200, 200, 200), version("V2", 220, 220, 220))
    work = {"program": tree, "defaults": {"main.intra_0": -1048576}}
    case = Case(folder, by_work=list(PAR), bias={"V2": 0.5}, **work)
    output = case.tune("--no-log")
    assert "default thresholds were kept" in output, output
    text = (case.folder / "p.fl.tuning").read_text()
    assert "main.intra_0: left at its default" in text and "=-" not in text, text
    assert "not met" not in output and "default 210 us" in output, output
    # And where the defaults are worse, the new values stay.
    case = Case(folder, by_work=[], **work)
    output = case.tune("--no-log")
    assert output.count("tuned 210 us, default 230 us (1.10x)") == 3, output
    check_settings(case.settings(), {"main.intra_0": (0, 16)})


def measures_what_it_chooses(folder):
    tree = guard("main.top_0", version("V0", 10, 100, 100), version("V1", 1000, 50, 50),
                 {"small": 7, "middle": 7, "large": 7})
    case = Case(folder, program=tree, abandon=True)
    case.tune("--no-log")
    assert case.settings()["main.top_0"] <= 7, case.settings()
    assert any("main.top_0\": \"F" in call for call in case.calls()), case.calls()


def chooses_sizes(folder):
    case = Case(folder, sizes={"items": {"is": 8, "2": 1.2, "32": 0.8, "128": 0.7, "512": 0.7},
                               "chunk": {"is": 4096, "1024": 1.1, "16384": 0.99}})
    output = case.tune()
    check_settings(case.settings(), {**BEST, "items": (128, 128)})
    assert "chunk" not in case.settings() and "12.5 % better than 32" in output, output
    case.tune("--no-sizes")
    assert "items" not in case.settings()


def chooses_numbers_of_kernels_that_matter(folder):
    tried = pathlib.Path(folder) / "tried"
    case = Case(folder, tried=str(tried), kernels={"main.segmap": 0.5, "main.segred_chunks": 0.3, "main.segred_2": 0.01},
                sizes={"map_groups": {"is": 8, "2": 0.5},
                       "main.segmap.groups": {"is": 8, "2": 0.8, "follows": "map_groups"},
                       "main.segmap.recipe": {"is": 1, "kind": "recipe", "most": 4, "2": 1.2, "3": 0.7, "4": 0.9},
                       "main.segred.chunk": {"is": 4096, "1024": 0.9},
                       "main.segred_2.chunk": {"is": 4096, "1024": 0.5},
                       "main.foreign.chunk": {"is": 0, "1": 0.5}})
    case.tune()
    expected = {"main.segmap.groups": (2, 2), "main.segmap.recipe": (3, 3), "main.segred.chunk": (1024, 1024)}
    check_settings(case.settings(), {**BEST, **expected})
    assert {name for name in case.settings() if name not in BEST} == set(expected), case.settings()
    values = [tuple(one) for one in json.loads(tried.read_text())]
    assert ("main.segmap.recipe", 4) in values and ("main.segmap.recipe", 5) not in values, values
    assert ("map_groups", 2) not in values and ("main.segred_2.chunk", 1024) not in values, values


def workers_get_shares_by_their_speed(folder):
    same = version("V0", 90, 200, 700)
    tree = guard("main.top_0", same, same)
    shares = {f"worker_{i}": {"is": 1000, "kind": "weight", "most": 1000} for i in range(3)}
    case = Case(folder, program=tree, sizes=shares, speeds=[1.0, 0.25, 0.02], base=0)
    output = case.tune()
    settings = case.settings()
    # Steps from one share to the next do not find the third one.
    fair = {"worker_0": (1000, 1000), "worker_1": (230, 270), "worker_2": (15, 25)}
    check_settings({"worker_0": 1000, **settings}, fair)
    assert "as fast as it is" in output, output


def layouts_get_shares_of_their_own(folder):
    same = version("V0", 90, 200, 700)
    layouts = {"main.layout_1": {"part": 0.5, "speeds": [1.0, 0.1]}, "main.layout_2": {"part": 0.5, "speeds": [1.0, 0.9]}}
    shares = {f"worker_{i}": {"is": 100, "kind": "weight", "most": 1000000} for i in range(2)}
    shares |= {f"{name}.weight_{i}": {"is": -1, "kind": "weight", "most": 1000000} for name in layouts for i in range(2)}
    case = Case(folder, program=guard("main.top_0", same, same), sizes=shares, layouts=layouts, speeds=[1.0, 1.0], base=0, noise=0.002)
    case.tune()
    chosen = {"worker_0": 100, "worker_1": 100, **case.settings()}
    for name, (least, most) in (("main.layout_1", (0.05, 0.125)), ("main.layout_2", (0.8, 1.0))):
        first, second = (chosen.get(f"{name}.weight_{i}", chosen[f"worker_{i}"]) for i in range(2))
        assert least <= second / first <= most, chosen
    assert chosen["main.layout_2.weight_0"] == 1000, chosen


def layouts_with_the_shares_of_the_program_stay(folder):
    same = version("V0", 90, 200, 700)
    layouts = {f"main.layout_{k}": {"part": 0.5, "speeds": [1.0, 0.25]} for k in (1, 2)}
    shares = {f"worker_{i}": {"is": 100, "kind": "weight", "most": 1000000} for i in range(2)}
    shares |= {f"{name}.weight_{i}": {"is": -1, "kind": "weight", "most": 1000000} for name in layouts for i in range(2)}
    case = Case(folder, program=guard("main.top_0", same, same), sizes=shares, layouts=layouts, speeds=[1.0, 1.0], base=0, noise=0.002)
    case.tune()
    assert {name for name in case.settings() if "w" in name} == {"worker_0", "worker_1"}, case.settings()


def shares_that_are_fair_stay(folder):
    same = version("V0", 90, 200, 700)
    shares = {f"worker_{i}": {"is": 1000, "kind": "weight", "most": 1000} for i in range(2)}
    case = Case(folder, program=guard("main.top_0", same, same), sizes=shares, speeds=[0.5, 0.49], base=0)
    case.tune()
    assert not any(name.startswith("worker_") for name in case.settings()), case.settings()


def splits_get_thresholds_between_data_sets(folder):
    tree = version("V0", 100, 1000, 5000)
    work = {"small": 1000, "middle": 100000, "large": 400000}
    for factors, least, most in (
            ({"small": 1.4, "middle": 0.9, "large": 0.6}, 1001, 100000),
            ({"small": 0.7, "middle": 0.7, "large": 0.6}, 0, 1000),
            ({"small": 1.4, "middle": 1.2, "large": 1.1}, 400001, 2**63 - 1)):
        split = {"is": 262144, "kind": "workers", "work": work, "split": factors}
        case = Case(folder, program=guard("main.top_0", tree, tree), sizes={"main.workers_0": split}, kernels={}, base=0)
        case.tune()
        check_settings(case.settings(), {"main.workers_0": (least, most)})
    split["split"] = {"small": 1.4, "middle": 1.3, "large": 0.6}
    case = Case(folder, program=guard("main.top_0", tree, tree), sizes={"main.workers_0": split}, kernels={}, base=0)
    case.tune()
    assert "main.workers_0" not in case.settings(), case.settings()


def one_data_set_that_loses_keeps_a_number(folder):
    tree = version("V0", 100, 1000, 5000)
    case = Case(folder, program=guard("main.top_0", tree, tree), kernels={"main.segmap": 0.9},
                sizes={"main.segmap.groups": {"is": 8, "2": {"small": 1.2, "middle": 0.8, "large": 0.8}}})
    case.tune()
    assert "main.segmap.groups" not in case.settings(), case.settings()


def weights_decide_conflicts(folder):
    case = Case(folder)
    command = case.command()
    command[command.index(str(case.folder / "small"))] += "@weight=100"
    subprocess.run(command, capture_output=True, check=True, timeout=60)
    check_settings(case.settings(), {"main.top_2": (0, 16)})


def objectives_differ(folder):
    case = Case(folder)
    case.tune("--objective", "max-regret", "--no-log")
    check_settings(case.settings(), {"main.top_0": (257, 4096), "main.intra_1": (17, 256)})
    case.tune("--objective", "geomean", "--no-log")
    check_settings(case.settings(), {"main.top_0": (257, 4096), "main.intra_1": (17, 256)})


def noise_does_not_change_decisions(folder):
    case = Case(folder, noise=0.2)
    for seed in range(20):
        case.tune("--no-log", "--seed", str(seed), seed=seed)
        check_settings(case.settings(), BEST)


def resumes_after_a_kill(folder):
    case = Case(folder, sleep=0.02)
    case.tune("--no-log")
    fresh = len(case.races())
    process = subprocess.Popen(case.command(), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    while not case.races_file.exists() or len(case.races_file.read_text().splitlines()) < 13:
        time.sleep(0.005)
    process.send_signal(signal.SIGKILL)
    process.wait()
    raced = case.races()
    measured = len(raced) - len(set(raced)) - 1  # the first run of each warms up, the last was killed
    with open(case.folder / "p.fl.tunelog", "a", encoding="utf-8") as log:
        log.write('{"key":"torn')
    output = case.tune()
    replayed = int(re.search(r"(\d+) more from the log", output).group(1))
    assert measured - 1 <= replayed <= measured + 1, (measured, replayed)
    # What was under way warms up again.
    assert len(case.races()) <= fresh - measured + 1, (fresh, measured)
    check_settings(case.settings(), BEST)
    case.tune()
    assert not case.races()


def resumes_whole_runs_after_a_kill(folder):
    case = Case(folder, sleep=0.03)
    process = subprocess.Popen(case.command("--no-replay"), stdout=subprocess.DEVNULL,
                               stderr=subprocess.DEVNULL)
    while len(case.calls()) < 9:
        time.sleep(0.005)
    process.send_signal(signal.SIGKILL)
    process.wait()
    covering = sum('"main' in call for call in case.calls())
    output = case.tune("--no-replay")
    replayed = int(re.search(r"(\d+) more from the log", output).group(1))
    assert covering - 1 <= replayed <= covering, (covering, replayed)
    check_settings(case.settings(), BEST)


def an_edit_measures_its_own_region_again(folder):
    case = Case(folder)
    case.tune()
    assert {race.split()[1] for race in case.races()} == {"main.top_0", "main.top_2"}
    tree = program()
    tree["seq"][1]["body"]["else"]["hash"] = "edited"
    # Another guard before it: names change, the code does not.
    text = json.dumps(tree).replace("main.top_0", "main.top_9")
    case.scenario["program"] = json.loads(text)
    case.write_scenario()
    case.tune()
    assert {race.split()[1] for race in case.races()} == {"main.top_2"}
    check_settings(case.settings(), {"main.top_9": BEST["main.top_0"], "main.top_2": BEST["main.top_2"]})


def survives(kind, *options):
    def test(folder):
        case = Case(folder, program=program(V0={"fails": kind}))
        output = case.tune("--timeout", "0.4", *options)
        assert "version main.top_0" in output and "not used" in output, output
        settings = case.settings()
        assert settings["main.top_0"] == NEVER, settings
        check_settings(settings, {"main.top_2": BEST["main.top_2"]})
    test.__name__ = "_".join(["survives_a_version_that_is_a", kind, *options])
    return test


def leaves_out_data_that_no_version_can_take(kind, *options):
    def test(folder):
        wrong = {"fails": kind, "on": ["small"]}
        case = Case(folder, program=program(**{f"V{v}": wrong for v in range(5)}))
        for _ in range(2):  # the second time from the log
            output = case.tune("--timeout", "5", *options, status=2)
            assert re.search("small +left out: ", output) and "not used" not in output, output
            assert "missing" not in output and "predicted" in output, output
            check_settings(case.settings(), {"main.top_0": (257, 4096), "main.intra_1": (0, 256)})
            text = (case.folder / "p.fl.tuning").read_text()
            assert "-- 1 of 3 data sets left out" in text and "--   small: " in text, text
    test.__name__ = "_".join(["leaves_out_data_that_no_version_can_take", kind, *options])
    return test


def data_that_are_left_out_count_nothing(folder):
    wrong = {"fails": "check", "on": ["small"]}
    for objective in ("geomean", "max-regret"):
        case = Case(folder, program=program(**{f"V{v}": wrong for v in range(5)}))
        page = case.folder / "tune.html"
        case.tune("--objective", objective, "--no-log", "--report", str(page), status=2)
        check_settings(case.settings(), {"main.top_0": (257, 4096), "main.top_2": (4097, NEVER)})
        assert "1 of 3 data sets left out" in page.read_text()


def nothing_is_tuned_where_all_data_fail(folder):
    case = Case(folder, program=program(**{f"V{v}": {"fails": "check"} for v in range(5)}))
    done = subprocess.run(case.command(), capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 1 and "no version could be measured" in done.stderr, done
    assert "large: p.fl:1:1: error: a check failed" in done.stderr, done
    assert not (case.folder / "p.fl.tuning").exists()


def a_version_that_takes_what_the_default_cannot_is_found(folder):
    wrong = {"fails": "check", "on": ["large"]}
    for options in ([], ["--no-replay"]):
        case = Case(folder, program=program(V1=wrong, V2=wrong), defaults={"main.top_0": 10**9})
        output = case.tune("--no-log", *options)
        assert "large: fails with the default thresholds" in output and "left out" not in output, output
        assert "not used" not in output and "missing" not in output, output
        check_settings(case.settings(), BEST)


def an_error_on_some_data_says_nothing_of_others(folder):
    for options in ([], ["--no-replay"]):
        failing = {"V2": {"fails": "check", "on": ["large"]}, "V0": {"fails": "check", "on": ["small"]}}
        case = Case(folder, program=program(**failing))
        for _ in range(2):  # the second time from the log
            output = case.tune(*options)
            assert "not used" not in output and "missing" not in output, output
            check_settings(case.settings(), {**BEST, "main.intra_1": (17, 4096)})
        (case.folder / "p.fl.tunelog").unlink()


def slow_on_large_only_is_kept_for_small(folder):
    case = Case(folder, program=program(V2={"fails": "hang", "on": ["large"]}))
    case.tune("--timeout", "0.25")
    check_settings(case.settings(), BEST)


def versions_that_do_not_fit_are_not_chosen(folder):
    tree = guard("main.intra_0", version("V0", 10, 10, 10), version("V1", 50, 50, 50))
    tree["local"] = 1 << 30
    case = Case(folder, program=tree)
    output = case.tune()
    assert "main.intra_0" in output
    predicted = re.findall(r"predicted (\d+) us", output)
    assert predicted == ["60", "60", "60"], output


def works_without_room_for_the_log(folder):
    if not os.path.exists("/dev/full"):
        return
    case = Case(folder)
    output = case.tune("--log", "/dev/full")
    check_settings(case.settings(), BEST)
    del output


def keeps_what_is_there_on_interrupt(folder):
    case = Case(folder, sleep=0.05)
    process = subprocess.Popen(case.command(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    while len(case.calls()) < 5:
        time.sleep(0.005)
    process.send_signal(signal.SIGINT)
    output, errors = process.communicate(timeout=30)
    assert process.returncode == 0, output + errors
    assert "interrupted" in output, output
    assert set(case.settings()) == set(BEST)
    # A file that is there is not changed for one that knows less.
    (case.folder / "p.fl.tuning").write_text("main.top_0=77\n")
    case.calls_file.unlink()
    process = subprocess.Popen([*case.command(), "--no-log"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    while len(case.calls()) < 4:
        time.sleep(0.005)
    process.send_signal(signal.SIGINT)
    output, errors = process.communicate(timeout=30)
    assert process.returncode == 0 and "too little was measured to change" in output, output + errors
    assert case.settings() == {"main.top_0": 77}


def says_that_it_was_interrupted_before_anything_was_measured(folder):
    case = Case(folder, sleep=0.5)
    process = subprocess.Popen([*case.command(), "--no-log"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    while len(case.calls()) < 1:
        time.sleep(0.005)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=30)
    assert process.returncode == 1 and errors == "error: interrupted before a version was measured\n", errors


def measures_something_where_the_first_runs_take_all_the_time(folder):
    case = Case(folder, sleep=0.1)
    output = case.tune("--budget", "0.15", "--no-log")
    assert "the time ended before all versions were seen" in output, output


def keeps_the_settings_of_other_entry_points(folder):
    case = Case(folder)
    tuning = case.folder / "p.fl.tuning"
    tuning.write_text("-- main's\nmain.top_0=7\n\n-- why\nother.top_0=3\nother.top_0@1:n=4\n\nmap_groups=2\n")
    case.tune()
    text = tuning.read_text()
    assert text.endswith("\n\n-- why\nother.top_0=3\nother.top_0@1:n=4\n"), text
    assert "main.top_0=7" not in text and "main's" not in text and "map_groups" not in text, text


def what_was_measured_counts_where_other_data_were_not(folder):
    par = {"small": 4096, "middle": 256, "large": 16}
    tree = guard("main.top_0", version("V0", 10, 10, 10), version("V1", 100, 200, 300), par)
    case = Case(folder, program=tree, sleep=0.1)
    output = case.tune("--budget", "0.2", "--no-log")
    assert re.search(r"small +predicted", output), output
    assert re.search(r"large +not measured: its versions are those of the default", output), output
    check_settings(case.settings(), {"main.top_0": (257, 4096)})


def dry_runs_write_nothing(folder):
    case = Case(folder)
    case.tune("--dry-run", "--no-log")
    assert not (case.folder / "p.fl.tuning").exists()
    assert not (case.folder / "p.fl.tunelog").exists()


def writes_a_page_that_needs_nothing_else(folder):
    case = Case(folder)
    page = case.folder / "tune.html"
    case.tune("--report", str(page))
    text = page.read_text()
    assert "main.top_0" in text and "<svg" in text and "V2" in text
    assert not re.search(r"(src|href)=.?(http|//)", text)


def tells_stale_files(folder):
    source = pathlib.Path(folder) / "q.fl"
    source.write_text("entry main (xs: []i64) : []i64 = map (+ 1) xs\n")
    check = [FLC, "tune", str(source), "--check"]
    missing = subprocess.run(check, capture_output=True, text=True, check=False)
    assert missing.returncode == 1 and "cannot read" in missing.stderr
    tuning = pathlib.Path(folder) / "q.fl.tuning"
    tuning.write_text("-- program-hash: 0123456789abcdef\nmain.top_0=3\n")
    stale = subprocess.run(check, capture_output=True, text=True, check=False)
    assert stale.returncode == 2 and "stale" in stale.stdout, stale
    explained = subprocess.run([FLC, "tune", str(source), "--explain"], capture_output=True, text=True,
                               check=True)
    assert "main.top_0=3" in explained.stdout


def refuses_a_program_that_does_not_serve(folder):
    case = Case(folder)
    command = case.command()
    command[command.index("--program") + 1] = "/bin/false"
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=30)
    assert done.returncode == 1 and "does not start" in done.stderr, done


# name: source, inputs (random values of types, or values), what the tree must have seen
PROGRAMS = {
    "rows": ("""entry main [n][m] (xss: [n][m]f32) : [n]f32 =
  map (\\xs -> f32.sum (map (\\x -> x * x) xs)) xss
""", ["[300][40]f32"]),
    "tuples": ("""entry main [n][m] (xss: [n][m]f32) (k: i64) : ([n]f32, [n][m]f32, i64) =
  let sums = map (\\xs -> f32.sum xs) xss
  let scaled = map2 (\\xs s -> map (/ (s + 1)) xs) xss sums
  in (sums, scaled, k + n)
""", ["[200][30]f32", "3i64"]),
    "updates": ("""entry main [n][m] (xss: *[n][m]f32) (k: i32) : ([n][m]f32, [n]f32) =
  let xss = loop xss = xss for _i < k do
    map (\\xs -> scan (+) 0 (scatter (copy xs) [0i64, 1] [1f32, 2])) xss
  let xss[0] = map (+ 1) xss[1]
  let sums = map (\\xs -> f32.sum (map (\\x -> x * x) xs)) xss
  in (scatter xss [0i64, 1] [replicate m 1f32, replicate m 2f32], sums)
""", ["[40][30]f32", "9i32"]),
}


def has_device(folder):
    source = pathlib.Path(folder) / "device.fl"
    source.write_text("entry main (x: i32) : i32 = x\n")
    done = subprocess.run([FLC, "run", str(source)], input="1i32", capture_output=True, text=True, check=False)
    return done.returncode == 0


def tunes_program(folder, name, source, inputs):
    path, data = pathlib.Path(folder) / f"{name}.fl", pathlib.Path(folder) / f"{name}.in"
    path.write_text(source)
    words = [word for kind in inputs if kind.startswith("[") for word in ("-g", kind)]
    values = subprocess.check_output([FLC, "data", *words], text=True)
    data.write_text(values + "\n".join(value for value in inputs if not value.startswith("[")) + "\n")
    def run(*options):
        return subprocess.run([FLC, *options], capture_output=True, text=True, check=True, timeout=200,
                              stdin=open(data, encoding="utf-8")).stdout
    expected = run("eval", str(path))
    output = run("tune", str(path), "--data", str(data), "--budget", "30", "--no-sizes", "--log",
                 str(path) + ".log")
    # All versions of all regions, from one run; none fails, and none gives another result.
    lines = [json.loads(line) for line in open(str(path) + ".log", encoding="utf-8")]
    measured = {(line["region"], line["version"]) for line in lines if line.get("what") in ("sample", "bound")}
    forced = [line for line in lines if "region" not in line]
    assert not forced or "contradicted" in output, (name, output)
    tree = json.loads(run("tree", str(path), "--format", "json"))["entries"][0]
    # A region inside of a version of another one adds a measurement: that of the version as a whole.
    assert len(measured) >= tree["versions"] > 2, (name, measured, tree["versions"])
    assert "not used" not in output and "fails" not in output, output
    assert close(run("run", str(path)), expected), name


def numbers(text):
    return re.findall(r"-?\d[\d.]*(?:e[-+]?\d+)?", re.sub(r"[fiu](8|16|32|64)", " ", text))


def close(text, other):
    pairs = list(zip(numbers(text), numbers(other)))
    return len(numbers(text)) == len(numbers(other)) and all(
        abs(float(a) - float(b)) <= 1e-3 * max(1, abs(float(b))) for a, b in pairs)


def tunes_programs(folder):
    if not has_device(folder):
        return
    for name, (source, inputs) in PROGRAMS.items():
        tunes_program(folder, name, source, inputs)


TWO = """-- ==
-- entry: first
-- input { [1i64, 2i64] }
-- ==
-- entry: second
-- input { [1i64, 2i64] }
entry first [n] (xs: [n]i64) : i64 = i64.sum xs
entry other (x: i64) : i64 = x
entry second [n] (xs: [n]i64) : i64 = i64.maximum xs
"""


def tunes_all_entry_points_that_have_data(folder):
    if not has_device(folder):
        return
    path = pathlib.Path(folder) / "two.fl"
    path.write_text(TWO)
    def tune(*options):
        return subprocess.run([FLC, "tune", "-q", str(path), "--no-sizes", "--budget", "1", *options], check=True,
                              capture_output=True, text=True, timeout=200).stdout
    said = tune("--report", str(path.with_suffix(".html")))
    assert re.findall("^entry point (.*)", said, re.M) == ["first", "second"], said
    assert all((path.parent / f"two.{entry}.html").exists() for entry in ("first", "second"))
    assert "entry point" not in tune("-e", "second", "--budget", "0", "--no-log")


# In the place of the C compiler: what it makes is the stand-in for a program.
COMPILER = """#!/bin/sh
for word; do [ "$last" = -o ] && out=$word; last=$word; done
[ -n "$out" ] || exit 0
printf '#!/bin/sh\\nexec {python} {server} {scenario} 1\\n' > "$out"
chmod +x "$out"
"""

TWO_SHARE = """
-- ==
-- entry: first second
-- input @ small
-- input @ large

entry first [n] (xs: [n]i64) : i64 = i64.sum xs
entry second [n] (xs: [n]i64) : i64 = i64.maximum xs
"""


def numbers_that_entry_points_share(folder):
    """One wins for the first alone, one for both in the mean, one for the second alone and is a loss for one of its data sets."""
    folder = pathlib.Path(folder)
    (folder / "two.fl").write_text(TWO_SHARE)
    zeros = "\0" * 7
    small, large = (f"b\2\1 i64\1{zeros}{chr(value)}{zeros}" for value in (3, 5))  # what flc makes of the values
    sizes = {"items": {"is": 8, "2": {"first": 0.5, "second": 1.7}, "32": {"first": 0.9, "second": 0.7}, "128": {"first": 0.9, "second": 0.7}},
             "chunk": {"is": 4096, "1024": {"first": 1, "second": 0.5, large: 1.4}, "16384": {"first": 0.99, "second": 0.99}}}
    leaves = [{"version": name, "us": {small: us, large: us}} for name, us in (("V0", 1000), ("V1", 1200))]
    tree = {"guard": "main.top_0", "par": {small: 16, large: 4096}, "then": leaves[0], "else": leaves[1]}
    (folder / "scenario.json").write_text(json.dumps({"program": tree, "sizes": sizes, "entries": ["first", "second"]}))
    (folder / "small").write_text("[3i64]")
    (folder / "large").write_text("[5i64]")
    (folder / "cc").write_text(COMPILER.format(python=sys.executable, server=HERE / "simulated.py", scenario=folder / "scenario.json"))
    (folder / "cc").chmod(0o755)
    done = subprocess.run([FLC, "tune", str(folder / "two.fl"), "--short", "0"], env={**os.environ, "CC": str(folder / "cc")}, capture_output=True,
                          text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    settings = (folder / "two.fl.tuning").read_text()
    assert re.findall(r"^(items|chunk)=(\d+)$", settings, re.M) == [("items", "32")], settings
    assert "20.0 % better than 8 in the mean of 2 entry points" in done.stdout, done.stdout


TESTS = [
    chooses_the_best_in_few_runs, runs_more_than_twice_what_decides_nothing, forces_versions_in_whole_runs, forces_versions_where_there_is_no_replay,
    whole_runs_have_the_last_word, workers_get_shares_by_their_speed, layouts_get_shares_of_their_own, layouts_with_the_shares_of_the_program_stay, shares_that_are_fair_stay, chooses_sizes, chooses_numbers_of_kernels_that_matter,
    splits_get_thresholds_between_data_sets, one_data_set_that_loses_keeps_a_number, tunes_programs, measures_what_it_chooses, weights_decide_conflicts, objectives_differ,
    noise_does_not_change_decisions, resumes_after_a_kill, resumes_whole_runs_after_a_kill,
    an_edit_measures_its_own_region_again, survives("crash"), survives("hang"), survives("wrong"),
    whole_runs_also_judge_where_versions_go_by_work, survives("check"), survives("check", "--no-replay"),
    survives("crash", "--no-replay"), survives("hang", "--no-replay"), survives("wrong", "--no-replay"),
    leaves_out_data_that_no_version_can_take("check"), leaves_out_data_that_no_version_can_take("crash"),
    leaves_out_data_that_no_version_can_take("check", "--no-replay"), data_that_are_left_out_count_nothing,
    nothing_is_tuned_where_all_data_fail, a_version_that_takes_what_the_default_cannot_is_found,
    an_error_on_some_data_says_nothing_of_others,
    slow_on_large_only_is_kept_for_small, versions_that_do_not_fit_are_not_chosen,
    works_without_room_for_the_log, keeps_what_is_there_on_interrupt,
    says_that_it_was_interrupted_before_anything_was_measured,
    measures_something_where_the_first_runs_take_all_the_time,
    what_was_measured_counts_where_other_data_were_not, keeps_the_settings_of_other_entry_points, dry_runs_write_nothing,
    writes_a_page_that_needs_nothing_else, tunes_all_entry_points_that_have_data, numbers_that_entry_points_share, tells_stale_files, refuses_a_program_that_does_not_serve,
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
