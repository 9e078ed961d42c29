#!/usr/bin/env python3
"""A stand-in for a generated program: serves commands, takes the times that a scenario states.

usage: simulated.py SCENARIO.json [SEED]

A scenario is {"program": NODE, "noise": share, "sleep": seconds per call and per raced run, "capacity":
bytes, "calls": file, "races": file, "abandon": true if races do so, "replay": false if it knows no replay, "bias": NAME: factor by
which a version is faster in races than in whole runs, "sizes": NAME: {"is": value, VALUE: factor}}: what
times are multiplied by, or factors by the names of data sets or entry points; of kind "workers" with "work": {data: n} and
"split": {data: factor} for those data sets that have at least as much work, "entries": names of entry points, "speeds":
[NUMBER, ...]: of workers whose shares are the sizes "worker_N" (of kind "weight"), "layouts": {NAME: {"part": of the time, "speeds":
those in it}}, in turn, with shares "NAME.weight_N", -1 being that of the program}.  A NODE is one of
  {"guard": name, "par": {data: n}, "local": bytes, "then": NODE, "else": NODE}
  {"seq": [NODE, ...]}     {"loop": count, "body": NODE}
  {"version": name, "us": {data: time}, "fails": "hang" | "crash" | "wrong", "on": [data, ...]}
The name of a data set is what its file holds.
"""
import json
import math
import os
import random
import sys
import time


def tree_of(node):
    if "guard" in node:
        return {"kind": "guard", "name": node["guard"], "par": {"text": "n"},
                "then": tree_of(node["then"]), "else": tree_of(node["else"])}
    if "seq" in node:
        return {"kind": "seq", "parts": [tree_of(part) for part in node["seq"]]}
    if "loop" in node:
        return {"kind": "loop", "body": tree_of(node["body"])}
    return {"kind": "leaf", "version": node["version"], "code": "segmap1",
            "hash": node.get("hash", node["version"])}


def guards_of(node):
    if "guard" in node:
        return [node["guard"]] + guards_of(node["then"]) + guards_of(node["else"])
    parts = node.get("seq", []) + ([node["body"]] if "body" in node else [])
    return [name for part in parts for name in guards_of(part)]


class Racer:
    """What runtime/race.h does, for a simulated program."""

    def __init__(self, program):
        self.program, self.on, self.plans, self.groups, self.frames = program, None, {}, [], []
        self.rounds = 16

    def do_replay(self, data=None):
        self.on = data
        return ""

    def do_replay_limits(self, rounds, *_):
        self.rounds = int(rounds)
        return ""

    def do_replay_plan(self, guard, *paths):
        self.plans[guard] = [None if path == "-" else dict(step.split("=") for step in path.split(","))
                             for path in paths]
        return ""

    def do_replay_sample(self, guard, par, local, alternative, turn, own, total):
        group = self.group(guard, int(par), int(local))
        contender = group["list"][int(alternative)]
        contender["own"][int(turn)], contender["total"][int(turn)] = float(own), float(total)
        group["rounds"] = max(group["rounds"], int(turn) + 1)
        return ""

    def tell(self, line):
        print(line, flush=True)

    def group(self, guard, par, local):
        for group in self.groups:
            if group["key"] == (self.on, guard, par, local):
                return group
        contenders = [{"own": {}, "total": {}, "warm": False, "seen": False, "out": path is None}
                      for path in self.plans[guard]]
        group = {"key": (self.on, guard, par, local), "number": len(self.groups), "list": contenders,
                 "rounds": 0, "settled": False, "events": 0, "inside": {}}
        self.groups.append(group)
        self.tell(f"group {group['number']} {guard} {par} {local}")
        return group

    def called(self):
        self.inside, self.outside, self.frames = {}, 0.0, []
        for group in self.groups:
            group["events"] = 0
            self.judge(group)
            for contender in group["list"]:
                contender["seen"] = False

    def ended(self):
        if self.on is None:
            return
        for inner, count in self.inside.items():
            self.tell(f"inside -1 0 {inner} {count}")
        self.tell(f"base {self.program.now - self.outside:.3f}")

    def begins(self, guard):
        return self.on is not None and guard in self.plans and guard not in self.program.path

    def decided(self, guard, par, local, taken):
        if self.frames and not self.frames[-1]["contender"]["seen"]:
            frame = self.frames[-1]
            self.tell(f"decide {frame['group']} {frame['number']} {guard} {par} {local} {'FT'[taken]}")

    def judge(self, group):
        alive = [c for c in group["list"] if not c["out"]]
        if not alive or not all(c["total"] for c in alive):
            group["settled"] = False
            return
        best = min(alive, key=lambda c: sum(math.log(us) for us in c["total"].values()) / len(c["total"]))
        group["settled"] = True
        for contender in alive:
            ratios = [math.log(contender["total"][turn] / best["total"][turn])
                      for turn in contender["total"] if turn in best["total"]]
            if contender is best or not ratios:
                continue
            mean = sum(ratios) / len(ratios)
            spread = sum((x - mean) ** 2 for x in ratios) / max(1, len(ratios) - 1)
            half = (2.0 + 12 / len(ratios) ** 2) * math.sqrt(spread / len(ratios))
            if len(ratios) > 1 and mean > half:
                contender["out"] = True
            elif len(ratios) < 2 or abs(mean) + half > 0.01:
                group["settled"] = group["rounds"] >= self.rounds

    def run(self, node, data, group, number, race):
        contender = group["list"][number]
        if not contender["warm"]:
            self.tell(f"try {group['number']} {number}")
        if race and "races" in self.program.scenario:
            with open(self.program.scenario["races"], "a", encoding="utf-8") as races:
                races.write(f"{data} {node['guard']} {number}\n")
        time.sleep(self.program.scenario.get("sleep", 0) if race else 0)
        before, started = dict(self.program.path), self.program.now
        self.program.path.update(self.plans[node["guard"]][number])
        frame = {"group": group["number"], "number": number, "contender": contender, "inside": {},
                 "spent": 0.0, "kept": 0.0}
        self.frames.append(frame)
        wrong, self.program.wrong = self.program.wrong, False
        try:
            self.program.decide(node, data)
            differs = self.program.wrong
        except FailedCheck:
            self.tell(f"fail {group['number']} {number} p.fl:1:1: error: a check failed")
            contender["out"], contender["warm"] = True, True
            if all(one["out"] for one in group["list"]):
                raise
            return 0.0
        finally:
            self.program.wrong |= wrong
            self.frames.pop()
            self.program.path = before
        if differs and race:
            self.tell(f"differ {group['number']} {number} 0")
        own = self.program.now - started - frame["spent"]
        if not contender["seen"]:
            for inner, count in frame["inside"].items():
                self.tell(f"inside {group['number']} {number} {inner} {count}")
        contender["seen"] = True
        known = [us for c in group["list"] for us in c["total"].values()]
        if race and known and self.program.scenario.get("abandon") and own > 1.5 * min(known):
            contender["out"] = True
            self.tell(f"bound {group['number']} {number} {1.5 * min(known):.3f}")
        elif race and contender["warm"]:
            contender["own"][group["rounds"]] = own
            contender["total"][group["rounds"]] = own + frame["kept"]
            self.tell(f"sample {group['number']} {number} {group['rounds']} {own:.3f} "
                      f"{own + frame['kept']:.3f}")
        contender["warm"] = True
        return own + frame["kept"]

    def race(self, node, data):
        group = self.group(node["guard"], node["par"][data], node.get("local", 0))
        inside = self.frames[-1]["inside"] if self.frames else self.inside
        inside[group["number"]] = inside.get(group["number"], 0) + 1
        group["events"] += 1
        started, took = self.program.now, 0.0
        alive = [k for k, c in enumerate(group["list"]) if not c["out"]]
        if group["events"] == 1 and not group["settled"]:
            for k in reversed(alive):
                if not group["list"][k]["warm"]:
                    self.run(node, data, group, k, True)
            while not group["settled"] and group["rounds"] < self.rounds:
                for k in alive if group["rounds"] % 2 == 0 else reversed(alive):
                    if not group["list"][k]["out"]:
                        took = self.run(node, data, group, k, True)
                group["rounds"] += 1
                if group["rounds"] > 1:
                    self.judge(group)
            self.tell(f"done {group['number']} 0")
        else:
            best = min(alive, key=lambda k: sum(group["list"][k]["total"].values(), 0.0)
                       / max(1, len(group["list"][k]["total"])))
            took = self.run(node, data, group, best, False)
        if self.frames:
            self.frames[-1]["spent"] += self.program.now - started
            self.frames[-1]["kept"] += took
        else:
            self.outside += self.program.now - started


class FailedCheck(Exception):
    """An error of the program."""


class Program:
    def __init__(self, scenario, seed):
        self.scenario = scenario
        self.random = random.Random(seed)
        self.capacity = scenario.get("capacity", 1 << 20)
        self.defaults = {name: scenario.get("defaults", {}).get(name, 32768) for name in guards_of(scenario["program"])}
        self.thresholds = dict(self.defaults)
        self.path, self.data, self.events = {}, {}, []
        self.now, self.wrong = 0.0, False
        self.spent, self.worked = 0.0, []  # as one worker of speed 1 takes it; by each in the last raced call
        self.racer = Racer(self)
        self.at = ""  # the data set of the call
        self.entry = "main"
        self.tried = set()  # names and values of sizes
        self.sizes = {name: size["is"] for name, size in scenario.get("sizes", {}).items()}

    def share_of(self, layout, i):
        own = self.sizes[f"{layout}.weight_{i}"] if layout else -1
        return self.sizes[f"worker_{i}"] if own < 0 else own

    def times_by_layout(self, us):
        """What each worker takes for its share, in each layout, which are in turn."""
        layouts = self.scenario.get("layouts", {None: {"part": 1, "speeds": self.scenario.get("speeds", [])}})
        for name, layout in layouts.items():
            shares = [self.share_of(name, i) for i in range(len(layout["speeds"]))]
            yield [us * layout["part"] * share / sum(shares) / speed for share, speed in zip(shares, layout["speeds"])]

    def worker_times(self, us):
        return [sum(times) for times in zip(*self.times_by_layout(us))]

    def spend(self, us):
        factor = 1 + self.scenario.get("noise", 0) * self.random.gauss(0, 1)
        self.spent += us
        us = sum(max(times, default=us) for times in self.times_by_layout(us))
        for name, value in self.sizes.items():
            self.tried.add((name, value))
            size = self.scenario["sizes"][name]
            if "work" in size:
                factor *= size["split"][self.at] if size["work"].get(self.at, -1) >= value else 1
                continue
            by_value = size.get(str(value), 1)
            factor *= by_value.get(self.at, by_value.get(self.entry, 1)) if isinstance(by_value, dict) else by_value
        self.now += us * max(0.05, factor)

    def fail(self, how):
        if how == "hang":
            time.sleep(3600)
        if how == "crash":
            os.abort()
        if how == "check":
            raise FailedCheck
        self.wrong = True

    def execute(self, node, data):
        if "seq" in node:
            for part in node["seq"]:
                self.execute(part, data)
        elif "loop" in node:
            for _ in range(node["loop"]):
                self.execute(node["body"], data)
        elif "guard" in node:
            self.decide(node, data)
        else:
            if "fails" in node and data in node.get("on", [data]):
                self.fail(node["fails"])
            in_race = self.racer.frames != [] and node["version"] in self.scenario.get("bias", {})
            self.spend(node["us"][data] * (self.scenario["bias"][node["version"]] if in_race else 1))

    def decide(self, node, data):
        name, par, local = node["guard"], node["par"][data], node.get("local", 0)
        if self.racer.begins(name):
            self.racer.race(node, data)
            return
        threshold = self.thresholds[name]
        by_work = threshold < 0 and data in self.scenario["by_work"]  # of which the tuner knows nothing
        taken = (by_work or 0 <= threshold <= par) and local <= self.capacity
        if name in self.path:
            taken = self.path[name] == "T"
        self.events.append({"name": name, "par": par, "local_bytes": local,
                            "at_us": int(self.now), "taken": taken})
        self.racer.decided(name, par, local, taken)
        self.execute(node["then"] if taken else node["else"], data)

    # ---- commands

    def do_call(self, entry, out, variable):
        data, self.entry = self.data[variable], entry
        if "calls" in self.scenario:
            with open(self.scenario["calls"], "a", encoding="utf-8") as calls:
                calls.write(f"{data} {json.dumps(self.path)}\n")
        time.sleep(self.scenario.get("sleep", 0))
        self.events, self.now, self.wrong = [], 0.0, False
        self.spend(self.scenario.get("base", 10))
        self.racer.called()
        self.execute(self.scenario["program"], data)
        self.racer.ended()
        return f"runtime: {int(self.now)}\n"

    def do_race(self, entry, rounds, variable, *entrants):
        """Times of calls with other sizes, in turn."""
        self.entry = entry
        before, path, paths = dict(self.sizes), self.path, []
        for entrant in entrants:
            self.path, times = {}, []
            for _ in range(int(rounds)):
                for setting in entrant.split(",") if entrant != "-" else []:
                    name, value = setting.split("=")
                    self.sizes[name] = int(value)
                self.now, self.at, self.spent = 0.0, self.data[variable], 0.0
                self.spend(self.scenario.get("base", 10))
                self.execute(self.scenario["program"], self.data[variable])
                times.append(self.now)
                self.worked = self.worker_times(self.spent)
                self.sizes = dict(before)
            splits = [{"name": name, "par": size["work"][self.at]}
                      for name, size in self.scenario.get("sizes", {}).items() if "work" in size]
            paths.append({"us": times, "guards": splits})
        self.path = path
        return json.dumps({"paths": paths}) + "\n"

    def do_kernel_times(self, _entry, _calls, variable):
        """A line for each kernel: its share of the time of a call."""
        if "kernels" not in self.scenario:
            return "%%% FAILURE\nunknown command\n"
        before, self.now = self.now, 0.0
        self.execute(self.scenario["program"], self.data[variable])
        took, self.now = self.now, before
        return "".join(f"{name} {share * took:.3f}\n" for name, share in self.scenario["kernels"].items())

    def do_worker_times(self):
        """A line for each worker: what it worked in the last call."""
        return "".join(f"{us:.3f}\n" for us in self.worked)

    def do_restore(self, file, *variables):
        with open(file.strip('"'), encoding="utf-8") as data:
            self.data[variables[0]] = data.read().strip()
        return ""

    def do_store(self, file, *_):
        with open(file.strip('"'), "w", encoding="utf-8") as out:
            out.write("wrong" if self.wrong else "right")
        return ""

    def do_report(self):
        device = {"name": "simulated", "code": "cpu", "local_bytes": self.capacity}
        return json.dumps({"device": device, "guards": self.events}) + "\n"

    def do_set_path(self, path=""):
        self.path = dict(step.split("=") for step in path.split(",") if step)
        return ""

    def do_set_tuning_param(self, name, value):
        if value == "default":
            value = self.defaults[name]
        elif int(value) < 0:
            return "%%% FAILURE\nexpected an index or size\n"
        (self.sizes if name in self.sizes else self.thresholds)[name] = int(value)
        return ""

    def do_tuning_params(self, *_):
        kinds = {name: size.get("kind", "grid_size") for name, size in self.scenario.get("sizes", {}).items()}
        return "".join(f"{name} {kinds[name]}\n" for name in self.sizes)

    def do_tuning_param_about(self, name):
        size = self.scenario.get("sizes", {}).get(name, {})
        if name not in self.sizes:
            return "%%% FAILURE\nunknown tuning parameter\n"
        return f"{self.size_in_force(name)} {size.get('most', 0)} {size.get('follows', '')}\n"

    def size_in_force(self, name):
        layout, _, number = name.rpartition(".weight_")
        return self.share_of(layout, int(number)) if layout else self.sizes.get(name)

    def do_tuning_param_value(self, name):
        return f"{self.thresholds.get(name, self.size_in_force(name))}\n"

    def do_tree(self):
        tree = tree_of(self.scenario["program"])
        return json.dumps({"entries": [{"name": name, "tree": tree} for name in self.scenario.get("entries", ["main"])]}) + "\n"

    def serve(self, line):
        words = line.split()
        if words[0] in ("free", "pause_profiling", "unpause_profiling"):
            return ""
        if "tried" in self.scenario:
            with open(self.scenario["tried"], "w", encoding="utf-8") as tried:
                json.dump(sorted(self.tried), tried)
        if words[0] in ("inputs", "type"):
            return "[]f32\n"
        if words[0].startswith("replay") and self.scenario.get("replay", True):
            return getattr(self.racer, "do_" + words[0])(*words[1:])
        command = getattr(self, "do_" + words[0], None)
        if not command:
            return "%%% FAILURE\nunknown command\n"
        try:
            return command(*words[1:])
        except FailedCheck:
            return "%%% FAILURE\np.fl:1:1: error: a check failed\n"


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        program = Program(json.load(file), int(sys.argv[2]) if len(sys.argv) > 2 else 1)
    print("%%% OK", flush=True)
    for line in sys.stdin:
        if line.strip():
            print(program.serve(line) + "%%% OK", flush=True)


main()
