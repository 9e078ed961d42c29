#!/usr/bin/env python3
"""A stand-in for a generated program: serves commands, takes the times that a scenario states.

usage: simulated.py SCENARIO.json [SEED]

A scenario is {"program": NODE, "noise": share, "sleep": seconds per call, "capacity": bytes,
"calls": file}.  A NODE is one of
  {"guard": name, "par": {data: n}, "local": bytes, "then": NODE, "else": NODE}
  {"seq": [NODE, ...]}     {"loop": count, "body": NODE}
  {"version": name, "us": {data: time}, "fails": "hang" | "crash" | "wrong", "on": [data, ...]}
The name of a data set is what its file holds.
"""
import json
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
    return {"kind": "leaf", "version": node["version"], "code": "segmap1"}


def guards_of(node):
    if "guard" in node:
        return [node["guard"]] + guards_of(node["then"]) + guards_of(node["else"])
    parts = node.get("seq", []) + ([node["body"]] if "body" in node else [])
    return [name for part in parts for name in guards_of(part)]


class Program:
    def __init__(self, scenario, seed):
        self.scenario = scenario
        self.random = random.Random(seed)
        self.capacity = scenario.get("capacity", 1 << 20)
        self.thresholds = {name: 32768 for name in guards_of(scenario["program"])}
        self.path, self.data, self.events = {}, {}, []
        self.now, self.wrong = 0.0, False

    def spend(self, us):
        factor = 1 + self.scenario.get("noise", 0) * self.random.gauss(0, 1)
        self.now += us * max(0.05, factor)

    def fail(self, how):
        if how == "hang":
            time.sleep(3600)
        if how == "crash":
            os.abort()
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
            self.spend(node["us"][data])

    def decide(self, node, data):
        name, par, local = node["guard"], node["par"][data], node.get("local", 0)
        taken = par >= self.thresholds[name] and local <= self.capacity
        if name in self.path:
            taken = self.path[name] == "T"
        self.events.append({"name": name, "par": par, "local_bytes": local,
                            "at_us": int(self.now), "taken": taken})
        self.execute(node["then"] if taken else node["else"], data)

    # ---- commands

    def do_call(self, entry, out, variable):
        data = self.data[variable]
        if "calls" in self.scenario:
            with open(self.scenario["calls"], "a", encoding="utf-8") as calls:
                calls.write(f"{data} {json.dumps(self.path)}\n")
        time.sleep(self.scenario.get("sleep", 0))
        self.events, self.now, self.wrong = [], 0.0, False
        self.spend(self.scenario.get("base", 10))
        self.execute(self.scenario["program"], data)
        return f"runtime: {int(self.now)}\n"

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
        self.thresholds[name] = int(value)
        return ""

    def do_tuning_param_value(self, name):
        return f"{self.thresholds[name]}\n"

    def do_tree(self):
        tree = {"name": "main", "tree": tree_of(self.scenario["program"])}
        return json.dumps({"entries": [tree]}) + "\n"

    def serve(self, line):
        words = line.split()
        if words[0] in ("free", "pause_profiling", "unpause_profiling"):
            return ""
        if words[0] in ("inputs", "type"):
            return "[]f32\n"
        command = getattr(self, "do_" + words[0], None)
        if not command:
            return "%%% FAILURE\nunknown command\n"
        return command(*words[1:])


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        program = Program(json.load(file), int(sys.argv[2]) if len(sys.argv) > 2 else 1)
    print("%%% OK", flush=True)
    for line in sys.stdin:
        if line.strip():
            print(program.serve(line) + "%%% OK", flush=True)


main()
