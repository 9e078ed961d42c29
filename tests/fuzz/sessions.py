#!/usr/bin/env python3
"""Servers that are asked many things: random programs of several entry points (idioms/parts.py, idioms/partners.py), called with
values of sizes that grow and shrink, some of them results of earlier calls, with parameters set to their extremes in between.
Results are those of the interpreter.

usage: sessions.py FLC [--count N] [--seed S] [--calls K] [--option OPTION]... [--family NAME]
"""
import argparse
import re
import struct
import subprocess
import sys
import tempfile
from pathlib import Path

from idioms.partners import PartnersGenerator
from idioms.parts import PartsGenerator

FAMILIES = {"parts": PartsGenerator, "partners": PartnersGenerator}
FORMATS = {"i8": "b", "i16": "h", "i32": "i", "i64": "q", "u8": "B", "u16": "H", "u32": "I", "u64": "Q", "f32": "f", "f64": "d", "bool": "?"}
SIZES = (0, 1, 2, 3, 5, 8, 17, 40)
EXTREMES = (0, 1, 2, 64, 1 << 20, (1 << 31) - 1)


class Value:
    """An array or a number: its element type, sizes, and elements in order."""

    def __init__(self, type_, shape, elements):
        self.type, self.shape, self.elements = type_, tuple(shape), list(elements)

    def __eq__(self, other):
        return (self.type, self.shape, self.elements) == (other.type, other.shape, other.elements)

    def binary(self):
        name = self.type.rjust(4).encode()
        head = b"b\2" + bytes([len(self.shape)]) + name + struct.pack(f"<{len(self.shape)}q", *self.shape)
        return head + struct.pack(f"<{len(self.elements)}{FORMATS[self.type]}", *self.elements)

    def text(self, dims=None, at=0):
        if dims is None and 0 in self.shape:
            return "empty(" + "".join(f"[{d}]" for d in self.shape) + self.type + ")"
        dims = self.shape if dims is None else dims
        if not dims:
            return str(self.elements[at]).lower() if self.type == "bool" else f"{self.elements[at]}{self.type}"
        step = len(self.elements) // self.shape[0] if dims == self.shape else 1
        for d in dims[1:]:
            step = step if dims == self.shape else step * d
        return "[" + ", ".join(self.text(dims[1:], at + i * step) for i in range(dims[0])) + "]"


def read_binary(data):
    values, at = [], 0
    while at < len(data):
        rank, type_ = data[at + 2], data[at + 3:at + 7].decode().strip()
        shape = struct.unpack_from(f"<{rank}q", data, at + 7)
        at += 7 + 8 * rank
        count = 1
        for d in shape:
            count *= d
        values.append(Value(type_, shape, struct.unpack_from(f"<{count}{FORMATS[type_]}", data, at)))
        at += struct.calcsize(f"<{count}{FORMATS[type_]}")
    return values


def read_text(text):
    """What `flc eval` prints: a value on each line."""
    values = []
    for line in text.splitlines():
        empty = re.fullmatch(r"empty\(((?:\[\d+\])*)(\w+)\)", line)
        if empty:
            values.append(Value(empty.group(2), map(int, re.findall(r"\d+", empty.group(1))), []))
            continue
        elements = re.findall(r"(-?\d+)([iu]\d+)|(true|false)", line)
        shape, rest = [], line
        type_ = elements[0][1] or "bool"
        while rest.startswith("["):
            depth, count = 0, 1
            for c in rest:
                depth += (c == "[") - (c == "]")
                count += c == "," and depth == 1
                if depth == 0:
                    break
            shape.append(count)
            rest = rest[1:]
        values.append(Value(type_, shape, [int(e[0]) if e[0] else e[2] == "true" for e in elements]))
    return values


class Server:
    def __init__(self, program, options):
        self.process = subprocess.Popen([program, *options], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        self.reply()

    def reply(self):
        lines = []
        while (line := self.process.stdout.readline()) != "%%% OK\n":
            if not line:
                raise EOFError(f"the server has ended: {self.process.wait()}")
            lines.append(line.rstrip("\n"))
        return lines

    def ask(self, command):
        self.process.stdin.write(command + "\n")
        self.process.stdin.flush()
        return self.reply()


class Session:
    def __init__(self, flc, folder, generator, options):
        self.flc, self.folder, self.generator, self.random = flc, folder, generator, generator.random
        lets, results = generator.program()
        self.path = folder / "session.fl"
        self.path.write_text(generator.definitions() + generator.text(lets, results), encoding="utf-8")
        subprocess.run([flc, "build", str(self.path), "--server", "-o", str(folder / "session")], check=True, stderr=subprocess.DEVNULL)
        self.server = Server(str(folder / "session"), options)
        self.names = 0
        self.kept = []  # (name on the server, Value)
        self.log = []

    def expected(self, entry, values):
        done = subprocess.run([self.flc, "eval", str(self.path), "-e", entry, "--after", "simplify"], input="\n".join(v.text() for v in values), capture_output=True, text=True, check=False, timeout=120)
        return read_text(done.stdout) if done.returncode == 0 else None

    def fresh(self):
        self.names += 1
        return f"v{self.names}"

    def argument(self, value):
        name, file = self.fresh(), self.folder / "value"
        file.write_bytes(value.binary())
        self.server.ask(f"restore {file} {name} {''.join('[]' for _ in value.shape)}{value.type}")
        return name

    def new_values(self, entry):
        """As the generator makes them, of sizes of our own if it has them from `widths`."""
        self.generator.widths = self.random.choice((SIZES[:3], SIZES[:6], SIZES[3:], SIZES))
        if hasattr(self.generator, "type") and self.generator.ranks[entry] == 3:
            self.generator.widths = SIZES[:6]
        return read_text(re.sub(r"(?<=[\])\d]) (?=[\[e\d-])", "\n", self.generator.input(entry)))

    def call(self, entry):
        values = self.new_values(entry)
        names = [None] * len(values)
        for i, value in enumerate(values):  # now and then a result of before
            found = [k for k in self.kept if (k[1].type, len(k[1].shape)) == (value.type, len(value.shape)) and 0 < len(value.shape) and len(k[1].elements) <= 2000]
            if found and self.random.random() < 0.4:
                names[i], values[i] = self.random.choice(found)
        own = [i for i, name in enumerate(names) if name is None]
        for i in own:
            names[i] = self.argument(values[i])
        expected = self.expected(entry, values)
        types = self.server.ask(f"outputs {entry}")
        outs = [self.fresh() for _ in types]
        reply = self.server.ask(f"call {entry} {' '.join(outs + names)}")
        self.log.append(f"{entry} {[v.shape for v in values]}")
        if any("FAILURE" in line for line in reply):
            if expected is not None:
                return f"{reply}"
            types = outs = []
        elif expected is None:
            return "it succeeded" if not self.generator.may_fail else None
        if len(types) == 1 and types[0][0] == "(":
            outs = self.parts(outs[0], types[0])
        message = self.compare(outs, expected) if outs else None
        for i in own:
            if self.random.random() < 0.5:
                self.server.ask(f"free {names[i]}")
        return message

    def parts(self, name, type_):
        """Of a tuple."""
        outs = []
        for line in self.server.ask(f"fields {type_}"):
            outs.append(self.fresh())
            self.server.ask(f"project {outs[-1]} {name} {line.split()[0]}")
        self.server.ask(f"free {name}")
        return outs

    def compare(self, outs, expected):
        file = self.folder / "results"
        for name, value in zip(outs, expected):
            self.server.ask(f"store {file} {name}")
            got = read_binary(file.read_bytes())[0]
            if got != value:
                return f"got {got.text()[:300]}, expected {value.text()[:300]}"
            if self.random.random() < 0.5:
                self.kept.append((name, value))
            else:
                self.server.ask(f"free {name}")
        while len(self.kept) > 6:
            self.server.ask(f"free {self.kept.pop(self.random.randrange(len(self.kept)))[0]}")
        return None

    def set_parameters(self, entry):
        extreme = self.random.choice(EXTREMES)
        for line in self.server.ask(f"tuning_params {entry}"):
            name, kind = line.split()[:2]
            if "group_size" not in name and self.random.random() < 0.7:
                value = extreme if self.random.random() < 0.7 else self.random.choice(EXTREMES)
                value = value if "threshold" in kind else self.random.choice((1, 2, 16, 64, 1000))
                self.log.append(f"{name}={value} {self.server.ask(f'set_tuning_param {name} {value}')}")

    def run(self, calls):
        for _ in range(calls):
            entry = self.random.choice(list(self.generator.ranks))
            if self.random.random() < 0.25:
                self.set_parameters(entry)
            try:
                message = self.call(entry)
            except EOFError as error:
                message = str(error)
            if message:
                return message
        return None


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("flc")
    parser.add_argument("--count", type=int, default=10)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--calls", type=int, default=30)
    parser.add_argument("--family", choices=FAMILIES, default="parts")
    parser.add_argument("--option", action="append", default=[], help="of the program")
    options = parser.parse_args()
    failed = 0
    for seed in range(options.seed, options.seed + options.count):
        with tempfile.TemporaryDirectory() as folder:
            session = Session(options.flc, Path(folder), FAMILIES[options.family](seed), options.option)
            message = session.run(options.calls)
            session.server.process.kill()
            if message:
                failed += 1
                print(f"seed {seed}: {message}\n  " + "\n  ".join(session.log[-12:]), flush=True)
    print(f"{options.count} sessions, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
