#!/usr/bin/env python3
"""A stand-in for a generated program whose times are functions of sizes; it can race.

usage: surfaces.py SCENARIO.json [SEED]

A scenario is {"sizes": [name, ...], "program": NODE, "noise": share, "races": false if it knows no race,
"points": file}.  A NODE is one of
  {"guard": name, "par": EXPRESSION, "then": NODE, "else": NODE}
  {"version": name, "us": EXPRESSION, "fails": EXPRESSION}
with expressions in the sizes.  A data set is a number per size.
"""
import json
import math
import random
import sys


def tree_of(node):
    if "guard" in node:
        return {"kind": "guard", "name": node["guard"], "par": {"text": node["par"]},
                "then": tree_of(node["then"]), "else": tree_of(node["else"])}
    return {"kind": "leaf", "version": node["version"], "code": "segmap1", "hash": node["version"]}


def guards_of(node):
    return [node["guard"]] + guards_of(node["then"]) + guards_of(node["else"]) if "guard" in node else []


def threshold(settings, guard, sizes):
    """What docs/tuning.md says of decision trees."""
    conditions = {}
    for key, value in settings.items():
        name, _, place = key.partition("@")
        number, colon, product = place.partition(":")
        if name == guard and colon:
            conditions[int(number)] = (product.split("*"), value)
    node = 1
    while node in conditions:
        factors, least = conditions[node]
        node = 2 * node + (math.prod(sizes[factor] for factor in factors) >= least)
    return settings.get(f"{guard}@{node}", settings[guard])


def value(expression, sizes):
    return eval(expression, {"min": min, "max": max}, sizes)  # pylint: disable=eval-used


def version_of(node, settings, sizes):
    """The version that runs."""
    while "guard" in node:
        taken = value(node["par"], sizes) >= threshold(settings, node["guard"], sizes)
        node = node["then" if taken else "else"]
    return node


class Failure(Exception):
    pass


class Program:
    def __init__(self, scenario, seed):
        self.scenario, self.random = scenario, random.Random(seed)
        self.settings = {name: 32768 for name in guards_of(scenario["program"])}
        self.path, self.variables, self.sizes, self.events = {}, {}, {}, []

    def run(self, path):
        """The time of a run, and its decisions."""
        self.events, node = [], self.scenario["program"]
        while "guard" in node:
            par = int(value(node["par"], self.sizes))
            taken = par >= threshold(self.settings, node["guard"], self.sizes)
            taken = path.get(node["guard"], "FT"[taken]) == "T"
            self.events.append({"name": node["guard"], "par": par, "local_bytes": 0, "at_us": 1.0,
                                "taken": taken})
            node = node["then" if taken else "else"]
        if "fails" in node and value(node["fails"], self.sizes):
            raise Failure("it fails")
        noise = 1 + self.scenario.get("noise", 0) * abs(self.random.gauss(0, 1))
        return 1 + value(node["us"], self.sizes) * noise

    def bind(self, names):
        self.sizes = dict(zip(self.scenario["sizes"], (self.variables[name] for name in names)))

    @staticmethod
    def path_of(text):
        return dict(step.split("=") for step in text.split(",") if step and step != "-")

    def do_restore(self, file, *words):
        with open(file.strip('"'), encoding="utf-8") as data:
            numbers = [int(word.removesuffix("i64")) for word in data.read().split()]
        self.variables.update(zip(words[::2], numbers))
        if "points" in self.scenario:
            with open(self.scenario["points"], "a", encoding="utf-8") as points:
                points.write(" ".join(map(str, numbers)) + "\n")
        return ""

    def do_call(self, _entry, _out, *names):
        self.bind(names)
        return f"runtime: {int(self.run(self.path))}\n"

    def do_race(self, _entry, rounds, *words):
        count = len(self.scenario["sizes"])
        self.bind(words[:count])
        paths = []
        for text in words[count:]:
            times = [self.run(self.path_of(text)) for _ in range(int(rounds))]
            paths.append({"us": times, "guards": self.events,
                          "at_us": [[event["at_us"] for event in self.events]] * int(rounds)})
        return json.dumps({"local_bytes": 1 << 20, "sizes": self.sizes, "paths": paths}) + "\n"

    def do_report(self):
        return json.dumps({"device": {"name": "simulated", "code": "cpu", "local_bytes": 1 << 20},
                           "guards": self.events, "sizes": self.sizes}) + "\n"

    def do_store(self, file, *_):
        with open(file.strip('"'), "w", encoding="utf-8") as out:
            out.write("right")
        return ""

    def do_set_path(self, path=""):
        self.path = self.path_of(path)
        return ""

    def do_set_tuning_param(self, name, number):
        if "@" not in name:
            self.settings = {key: old for key, old in self.settings.items() if not key.startswith(name + "@")}
        self.settings[name] = int(number)
        return ""

    def do_tuning_param_value(self, name):
        return f"{self.settings[name]}\n"

    def do_tree(self):
        return json.dumps({"entries": [{"name": "main", "tree": tree_of(self.scenario["program"])}]}) + "\n"

    def do_inputs(self, _entry):
        return "i64\n" * len(self.scenario["sizes"])

    def serve(self, words):
        if words[0] in ("free", "pause_profiling", "unpause_profiling"):
            return ""
        command = getattr(self, "do_" + words[0], None)
        if not command or (words[0] == "race" and not self.scenario.get("races", True)):
            return "%%% FAILURE\nunknown command\n"
        try:
            return command(*words[1:])
        except Failure as failure:
            return f"%%% FAILURE\n{failure}\n"


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        program = Program(json.load(file), int(sys.argv[2]) if len(sys.argv) > 2 else 1)
    print("%%% OK", flush=True)
    for line in sys.stdin:
        if line.strip():
            print(program.serve(line.split()) + "%%% OK", flush=True)


if __name__ == "__main__":
    main()
