#!/usr/bin/env python3
"""Kernels of every family beside their yardsticks, in ratios: 1.0 is as fast as the yardstick.

usage: ./dev bench kernels [OPTION...] [PATTERN...]

PATTERN     a FAMILY, an ENTRY, or rows whose name `FAMILY/ENTRY SIZES` begins with it or matches it (`*`, `?`)
--list      only say which rows there are
--quick     without the large rows, and with a third of the time
--seconds S time for each side of a row (0.3)
--build     only build what the rows need
--path P    force versions, `main.top_0=T`
--save F    write the ratios as JSON
--before F  show the ratios that another run saved beside these
--than FLC  only rows whose code that compiler makes otherwise, and how much faster than its they are, the least of
            two runs each, in turn

The exit status is 1 if a row fails: no program, a wrong result.  Ratios never decide.

Yardsticks: `C` is hand-written C with OpenMP and fast mathematics, or OpenBLAS (reference/FAMILY.c); `copy`
copies as many bytes; `peak` does as many operations as multiply-adds in registers; `seq` is the plain
loop on one core.  benchmarks/README.md says how to add a row.
"""
import argparse
import ast
import concurrent.futures
import dataclasses
import fnmatch
import hashlib
import json
import math
import os
import pathlib
import re
import select
import signal
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
KERNELS, REFERENCES = HERE / "kernels", HERE / "reference"
CTYPES = {"i8": "int8_t", "i16": "int16_t", "i32": "int32_t", "i64": "int64_t", "u8": "uint8_t", "u16": "uint16_t",
          "u32": "uint32_t", "u64": "uint64_t", "f32": "float", "f64": "double", "bool": "bool"}
SIDES = ["ours", "C", "seq", "copy", "peak"]
FAST = ["-O3", "-march=native", "-ffast-math", "-fopenmp"]
PLAIN = ["-O3", "-march=native", "-DPLAIN", "-Wno-unknown-pragmas"]
TOLERANCE = {"f32": 1e-4, "f64": 1e-9}
ROW_TIMEOUT_S = 120
# Idle threads wait busily for about 50 us, enough between calls, and then leave the cores to the other sides.
# OpenBLAS takes some processors with AVX-512 for old ones.
ENVIRONMENT = {"GOMP_SPINCOUNT": "20000", "OPENBLAS_THREAD_TIMEOUT": "16", "OPENBLAS_CORETYPE": "SKYLAKEX"}


# ---- rows, as the programs declare them

@dataclasses.dataclass
class Parameter:
    name: str
    dims: list  # names of sizes, literals
    element: str
    consumed: bool


@dataclasses.dataclass
class Entry:
    family: "Family"
    name: str
    sizes: list
    parameters: list
    result: str
    notes: dict  # what the comments above it say
    bytes: str

    def reference(self):
        return self.notes.get("reference", self.name)


@dataclasses.dataclass
class Row:
    entry: Entry
    text: str  # as written, `n=2^20 m=3`
    values: dict
    large: bool

    def name(self):
        return f"{self.entry.family.name}/{self.entry.name} {self.text}"


@dataclasses.dataclass
class Family:
    name: str
    source: str
    notes: dict
    wanted: list  # alternatives (ratio, yardstick)
    rows: list


ENTRY = re.compile(r"^((?:--[^\n]*\n|#\[[^\n]*\n)*)entry\s+(\w+)\s*((?:\[\w+\]\s*)*)((?:\([^()]*\)\s*)*):\s*([^=]*?)\s*=",
                   re.MULTILINE)
NOTE = re.compile(r"^--\s+(rows|large|inputs|reference|tolerance|differing|operations|wanted):\s*(.*)$", re.MULTILINE)


def notes_of(comments):
    return {key: value.strip() for key, value in NOTE.findall(comments)}


def parameter_of(text):
    name, _, kind = text.partition(":")
    kind = kind.strip()
    dims = re.findall(r"\[([^\]]*)\]", kind)
    return Parameter(name.strip(), dims, kind.lstrip("*").rpartition("]")[2].strip(), kind.startswith("*"))


def evaluate(text, values):
    """A number from an expression in sizes and parameters, `2^20 + n`."""
    return eval(compile(ast.parse(text.replace("^", "**"), mode="eval"), text, "eval"), {"__builtins__": {}},
                {**values, "min": min, "max": max, "log2": math.log2})


def rows_of(entry, text, large):
    for part in filter(None, (part.strip() for part in text.split("|"))):
        values = {name: evaluate(value, {}) for name, _, value in (word.partition("=") for word in part.split())}
        yield Row(entry, part, values, large)


def family_of(path):
    source = path.read_text(encoding="utf-8")
    head = notes_of(source[:source.index("\n\n")])
    wanted = [(float(part.split()[0]), part.split()[2]) for part in head["wanted"].split(" or ")]
    family = Family(path.stem, source, head, wanted, [])
    for comments, name, sizes, parameters, result in ENTRY.findall(source):
        notes = notes_of(comments)
        moved = re.search(r"#\[bytes\((.*)\)\]", comments)
        entry = Entry(family, name, re.findall(r"\[(\w+)\]", sizes),
                      [parameter_of(text) for text in re.findall(r"\(([^()]*)\)", parameters)], result, notes,
                      moved.group(1) if moved else "0")
        family.rows += [*rows_of(entry, notes.get("rows", ""), False), *rows_of(entry, notes.get("large", ""), True)]
    return family


def all_rows():
    return [row for path in sorted(KERNELS.glob("*.fl")) for row in family_of(path).rows]


def matches(row, pattern):
    family, name = row.entry.family.name, row.name()
    if (KERNELS / f"{pattern}.fl").exists():
        return family == pattern
    return row.entry.name == pattern or name.startswith(pattern) or fnmatch.fnmatchcase(name, pattern)


def chosen(row, options):
    if options.quick and row.large:
        return False
    return not options.patterns or any(matches(row, pattern) for pattern in options.patterns)


# ---- programs

class Failure(Exception):
    pass


def run_tool(command, timeout=120):
    try:
        done = subprocess.run([str(word) for word in command], capture_output=True, text=True, timeout=timeout, check=False)
    except subprocess.TimeoutExpired:
        raise Failure(f"{command[0]} took more than {timeout} s") from None
    if done.returncode != 0:
        said = [line for line in (done.stderr + done.stdout).splitlines() if line.strip()]
        raise Failure(f"{os.path.basename(str(command[0]))} failed ({done.returncode}): " + " / ".join([line for line in said if "error" in line][:2] or said[:2]))


def stamp_of(target):
    return target.with_suffix(target.suffix + ".stamp")


def stale(target, *parts):
    """Whether `target` was made from something else; then says from what it is going to be made."""
    digest = hashlib.sha256("\0".join(str(part) for part in parts).encode()).hexdigest()
    stamp = stamp_of(target)
    if target.exists() and stamp.exists() and stamp.read_text() == digest:
        return None
    target.unlink(missing_ok=True)
    return lambda: stamp.write_text(digest)


def only_entry(source, name):
    """The program with `name` as its only entry point, line by line the same."""
    source = re.sub(r"^#\[bytes\(.*\)\]$", "", source, flags=re.MULTILINE)
    return re.sub(r"^entry(?=\s+(?!" + name + r"\b))", "def", source, flags=re.MULTILINE)


def value_line(kind, rank, target):
    return f"  {target} = (Value){{ .type = {kind.upper()}, .rank = {rank} }};\n"


def array_type(types, kind):
    """Element type, rank and operations of a type of the manifest; rank 0 without operations for a scalar."""
    if kind in CTYPES:
        return kind, 0, None
    described = types[kind]
    if described["kind"] != "array":
        raise Failure(f"a value of type {kind} can't be compared")
    return described["elemtype"], described["rank"], described["ops"]


class Glue:
    """What driver.h declares for one entry point, as C."""

    def __init__(self, entry, manifest):
        self.entry, types = entry, manifest["types"]
        self.described = manifest["entry_points"][entry.name]
        self.inputs = [array_type(types, each["type"]) for each in self.described["inputs"]]
        self.ctypes = [types[each["type"]]["ctype"] if each["type"] in types else CTYPES[each["type"]] + " "
                       for each in self.described["inputs"]]
        output = self.described["output"]["type"]
        self.record = types[output] if output in types and "record" in types[output] else None
        fields = self.record["record"]["fields"] if self.record else [{"type": output, "project": None}]
        self.projects = [field["project"] for field in fields]
        self.outputs = [array_type(types, field["type"]) for field in fields]
        self.output_ctypes = [types[field["type"]]["ctype"] if field["type"] in types else CTYPES[field["type"]] + " "
                              for field in fields]
        self.output_ctype = types[output]["ctype"] if output in types else CTYPES[output] + " "
        self.output_free = types[output]["ops"]["free"] if output in types else None

    def text(self):
        return "\n".join([
            '#include "ours.h"', '#include "driver.h"', "#include <stdlib.h>", "",
            self.state(), self.signature("inputs", self.inputs), self.signature("outputs", self.outputs), self.start(),
            self.load("load", range(len(self.inputs))),
            self.load("reload", [i for i, each in enumerate(self.described["inputs"]) if each["unique"]]),
            self.call(), self.results(), self.release(), self.reference()])

    def state(self):
        fields = "".join(f"  {ctype}in{i};\n" for i, ctype in enumerate(self.ctypes))
        return ("struct Ours {\n  struct ours_context_config *cfg;\n  struct ours_context *ctx;\n" + fields +
                f"  {self.output_ctype}out;\n  bool holds;\n}};\n")

    def signature(self, name, values):
        lines = "".join(value_line(kind, rank, f"v[{i}]") for i, (kind, rank, _) in enumerate(values))
        return f"int ours_{name}(Value *v) {{\n{lines}  return {len(values)};\n}}\n"

    def start(self):
        return """Ours *ours_start(const char *path) {
  Ours *o = calloc(1, sizeof *o);
  if (!o) return NULL;
  o->cfg = ours_context_config_new();
  ours_context_config_set_near(o->cfg, 1);
  if (*path && ours_context_config_set_path(o->cfg, path)) return NULL;
  o->ctx = ours_context_new(o->cfg);
  return o;
}

char *ours_error(Ours *o) { return ours_context_get_error(o->ctx); }
"""

    def load(self, name, which):
        lines = []
        for i in which:
            kind, rank, ops = self.inputs[i]
            if not rank:
                lines.append(f"  o->in{i} = *(const {CTYPES[kind]} *)v[{i}].data;\n")
                continue
            shape = ", ".join(f"v[{i}].shape[{d}]" for d in range(rank))
            lines.append(f"  if (o->in{i}) {ops['free']}(o->ctx, o->in{i});\n"
                         f"  o->in{i} = {ops['new']}(o->ctx, v[{i}].data, {shape});\n"
                         f"  if (!o->in{i}) return false;\n")
        done = "  return !ours_context_sync(o->ctx);\n" if lines else "  (void)o, (void)v;\n  return true;\n"
        return f"bool ours_{name}(Ours *o, const Value *v) {{\n{''.join(lines)}{done}}}\n"

    def call(self):
        arguments = "".join(f", o->in{i}" for i in range(len(self.inputs)))
        return (f"bool ours_call(Ours *o) {{\n  if ({self.described['cfun']}(o->ctx, &o->out{arguments})) return false;\n"
                "  o->holds = true;\n  return !ours_context_sync(o->ctx);\n}\n")

    def results(self):
        lines = []
        for k, (kind, rank, ops) in enumerate(self.outputs):
            lines.append(f"  {self.output_ctypes[k]}r{k} = " + ("0;\n" if self.projects[k] else "o->out;\n"))
            if self.projects[k]:
                lines.append(f"  if ({self.projects[k]}(o->ctx, &r{k}, o->out)) return false;\n")
            if not rank:
                lines.append(f"  if (v[{k}].data) *({CTYPES[kind]} *)v[{k}].data = r{k};\n")
                continue
            lines += [f"  v[{k}].shape[{d}] = {ops['shape']}(o->ctx, r{k})[{d}];\n" for d in range(rank)]
            lines.append(f"  if (v[{k}].data && {ops['values']}(o->ctx, r{k}, v[{k}].data)) return false;\n")
            if self.projects[k]:
                lines.append(f"  {ops['free']}(o->ctx, r{k});\n")
        return f"bool ours_results(Ours *o, Value *v) {{\n{''.join(lines)}  return !ours_context_sync(o->ctx);\n}}\n"

    def release(self):
        free = f"  if (o->holds) {self.output_free}(o->ctx, o->out);\n" if self.output_free else ""
        return f"void ours_release(Ours *o) {{\n{free}  o->holds = false;\n}}\n"

    def in_place(self):
        consumed = [i for i, each in enumerate(self.described["inputs"]) if each["unique"]]
        return consumed[0] if consumed and self.entry.result.startswith("*") else -1

    def own_length(self):
        """Whether the reference decides how many elements there are."""
        return self.entry.result.startswith(("[]", "([]", "?"))

    def reference(self):
        kinds, values = ["int64_t"] * len(self.entry.sizes), [f"n[{i}]" for i in range(len(self.entry.sizes))]
        for i, (kind, rank, _) in enumerate(self.inputs):
            const = "" if i == self.in_place() else "const "
            kinds.append(f"{const}{CTYPES[kind]} *" if rank else CTYPES[kind])
            values.append(f"in[{i}].data" if rank else f"*(const {CTYPES[kind]} *)in[{i}].data")
        for k, (kind, _, _) in enumerate(self.outputs):
            if self.in_place() < 0 or k > 0:
                kinds.append(f"{CTYPES[kind]} *")
                values.append(f"out[{k}].data")
        result = "int64_t" if self.own_length() else "void"
        call = f"((Function *)function)({', '.join(values)})"
        return (f"int reference_in_place(void) {{ return {self.in_place()}; }}\n\n"
                f"int64_t reference_call(void *function, const int64_t *n, const Value *in, const Value *out) {{\n"
                f"  typedef {result} Function({', '.join(kinds)});\n  (void)n, (void)in, (void)out;\n" +
                (f"  return {call};\n}}\n" if self.own_length() else f"  {call};\n  return -1;\n}}\n"))


def code_of(flc, program):
    """The code that the compiler makes, without the numbers of its names."""
    done = subprocess.run([flc, "dump", "--after", "imp", program], capture_output=True, text=True, check=False)
    return re.sub(r"_\d+", "", done.stdout) if done.returncode == 0 else None


def made_otherwise(row, options, known={}):
    """Whether the two compilers make different code for the row's entry point."""
    entry = row.entry
    if id(entry) not in known:
        program = pathlib.Path(options.folder) / entry.family.name / entry.name / f"{entry.family.name}.fl"
        program.parent.mkdir(parents=True, exist_ok=True)
        program.write_text(only_entry(entry.family.source, entry.name), encoding="utf-8")
        known[id(entry)] = code_of(options.flc, program) != code_of(options.than, program)
    return known[id(entry)]


class Builder:
    def __init__(self, flc, folder):
        self.flc, self.folder = flc, pathlib.Path(folder)
        self.folder.mkdir(parents=True, exist_ok=True)

    def driver(self):
        source, header = KERNELS / "driver.c", KERNELS / "driver.h"
        target = self.folder / "driver.o"
        done = stale(target, source.read_text(), header.read_text())
        if done:
            run_tool(["cc", "-O3", "-march=native", "-fopenmp", "-c", source, "-o", target])
            done()
        return target

    def reference(self, family, options, suffix):
        """A shared library; linked without -ffast-math, which would change rounding for the whole process."""
        source = REFERENCES / f"{family}.c"
        target = self.folder / f"{family}_{suffix}.so"
        text = source.read_text()
        done = stale(target, text, (REFERENCES / "kernels.h").read_text(), *options)
        if done:
            run_tool(["cc", *options, "-fPIC", "-c", source, "-o", target.with_suffix(".o")])
            blas = ["-lopenblas"] if "cblas.h" in text and suffix == "fast" else []
            run_tool(["cc", "-shared", target.with_suffix(".o"), "-o", target, "-fopenmp", *blas, "-lm"])
            done()
        return target

    def references(self, family):
        return [self.reference(family, FAST, "fast"), self.reference(family, PLAIN, "plain")]

    def entry(self, entry):
        """The driver with the entry point's library in it."""
        folder = self.folder / entry.family.name / entry.name
        folder.mkdir(parents=True, exist_ok=True)
        program = folder / f"{entry.family.name}.fl"
        program.write_text(only_entry(entry.family.source, entry.name), encoding="utf-8")
        run_tool([self.flc, "lib", program, "-o", folder / "ours", "--prefix", "ours"])
        glue = Glue(entry, json.loads((folder / "ours.json").read_text())).text()
        target = folder / "driver"
        parts = [self.object(folder / "ours.c"), self.object(glue_file(folder, glue)), self.driver()]
        done = stale(target, *(stamp_of(part).read_text() for part in parts))
        if done:
            run_tool(["cc", *parts, "-o", target, "-fopenmp", "-lOpenCL", "-lm", "-ldl"])
            done()
        return target

    def object(self, source):
        """Not optimised: host code that launches kernels takes as long, and compiles twice as fast."""
        target = source.with_suffix(".o")
        done = stale(target, source.read_text(), (KERNELS / "driver.h").read_text())
        if done:
            run_tool(["cc", "-O0", "-w", "-I", source.parent, "-I", KERNELS, "-c", source, "-o", target])
            done()
        return target


def glue_file(folder, text):
    path = folder / "glue.c"
    path.write_text(text)
    return path


# ---- measuring

DEFAULT_BOUNDS = {"f32": (0, 1), "f64": (0, 1), "bool": (-1, 1), "i8": (0, 100), "u8": (0, 256)}


def noted_fill(row, name):
    """What the notes say of the parameter: `xs, ys in -1..1; is in permutation; k in sorted 0..n; a = 2`."""
    for text in row.entry.notes.get("inputs", "").split(";"):
        names, _, how = text.partition(" = " if " = " in text else " in ")
        if name in names.replace(",", " ").split():
            return how.strip()
    return None


def fill_of(parameter, row):
    """How the driver makes an input: shape, how, bounds."""
    how = noted_fill(row, parameter.name)
    if not parameter.dims:
        value = row.values[parameter.name] if parameter.name in row.values else evaluate(how, row.values)
        return f"- uniform {value} {value}"
    shape = "x".join(str(int(evaluate(dim, row.values))) for dim in parameter.dims)
    if how is None:
        low, high = DEFAULT_BOUNDS.get(parameter.element, (0, 1000))
        return f"{shape} uniform {low} {high}"
    if ".." not in how:
        return f"{shape} {how} 0 0"
    kind, bounds = how.split(" ", 1) if how.startswith("sorted ") else ("uniform", how)
    low, high = (evaluate(bound, row.values) for bound in bounds.split(".."))
    return f"{shape} {kind} {low} {high}"


def tolerance_of(entry):
    noted = entry.notes.get("tolerance", entry.family.notes.get("tolerance"))
    if noted:
        return float(noted)
    return max([TOLERANCE[kind] for kind in TOLERANCE if kind in entry.result], default=0)


def request(number, row, seconds):
    entry, values = row.entry, row.values
    words = [number, seconds, tolerance_of(entry), entry.notes.get("differing", 0), float(evaluate(entry.bytes, values)),
             float(evaluate(entry.notes.get("operations", "0"), values)), len(entry.sizes),
             *(int(values[size]) for size in entry.sizes), *(fill_of(each, row) for each in entry.parameters)]
    return " ".join(str(word) for word in words) + "\n"


class Driver:
    """A process that measures the rows of an entry point; started again after a row that ends it."""

    def __init__(self, program, entry, libraries, path):
        self.command = [str(word) for word in [program, *libraries, entry.reference(), path]]
        self.process = None

    def start(self):
        environment = dict(os.environ)
        for name, value in ENVIRONMENT.items():
            environment.setdefault(name, value)
        self.process = subprocess.Popen(self.command, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=subprocess.PIPE, text=True, env=environment)

    def stop(self):
        if self.process:
            self.process.kill()
            said = self.process.communicate()[1].strip().splitlines()
            self.process = None
            return said[-1] if said else ""
        return ""

    def ended(self):
        """Why the process is no more."""
        code = self.process.wait()
        said = self.stop()
        if code == -signal.SIGALRM:
            return "took too long"
        return (signal.strsignal(-code) if code < 0 else f"exit status {code}") + (f": {said}" if said else "")

    def measure(self, line):
        """Nanoseconds of each side."""
        if not self.process:
            self.start()
        try:
            self.process.stdin.write(line)
            self.process.stdin.flush()
        except BrokenPipeError:
            pass
        ready, _, _ = select.select([self.process.stdout], [], [], ROW_TIMEOUT_S)
        answer = self.process.stdout.readline().split(maxsplit=2) if ready else []
        if not answer:
            raise Failure(self.ended() if ready else "no answer")
        if answer[1] == "failed":
            raise Failure(answer[2].strip())
        return dict(zip(SIDES, map(float, answer[2].split())))


def ratios_of(times):
    """Ours against each yardstick that was measured; a time below 0 is a bound."""
    return {side: abs(time) / times["ours"] for side, time in times.items() if side != "ours" and time}


def judged(row, ratios):
    """The ratio that counts, the yardstick and the ratio wanted: of several alternatives the best one."""
    found = [(ratios[side] / wanted, ratios[side], side, wanted) for wanted, side in row.entry.family.wanted
             if side in ratios]
    return max(found)[1:]


@dataclasses.dataclass
class Outcome:
    row: Row
    times: dict
    failure: str = ""

    def ratios(self):
        return ratios_of(self.times)


def duration(ns):
    for unit, scale in (("s ", 1e9), ("ms", 1e6)):
        if ns >= scale:
            return f"{ns / scale:8.3f} {unit}"
    return f"{ns / 1e3:8.2f} us"


def ratio_text(ratio):
    return f"{ratio:6.2f}" if ratio >= 0.1 else f"{ratio:6.1g}" if ratio >= 0.0001 else "<.0001"


def show(outcome, before):
    name = f"{outcome.row.name():52.52}"
    if outcome.failure:
        return f"{name} FAILED: {outcome.failure}"
    ratios = outcome.ratios()
    columns = "".join(f"  {side} {ratio_text(ratios[side])}" if side in ratios else " " * (len(side) + 9)
                      for side in ("C", "copy", "peak"))
    beyond = ">" if outcome.times["seq"] < 0 else " "
    ratio, _, wanted = judged(outcome.row, ratios)
    marks = "  BELOW SEQUENTIAL" if ratios["seq"] < 1 else "  *" if ratio < wanted else ""
    was = before.get(outcome.row.name())
    was = f"  was {was:5.2f}" if was else f"  than {ratios['than']:5.2f}" if "than" in ratios else ""
    return f"{name} {duration(outcome.times['ours'])}{columns}  seq{beyond}{ratio_text(ratios['seq'])}{was}{marks}"


class Builds:
    """Everything that the rows need, made beside each other before the first row: timings beside a
    compilation mean nothing."""

    def __init__(self, rows, builder):
        builder.driver()
        entries = {id(row.entry): row.entry for row in rows}
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            self.references = {name: pool.submit(builder.references, name)
                               for name in {row.entry.family.name for row in rows}}
            self.programs = {key: pool.submit(builder.entry, entry) for key, entry in entries.items()}

    def driver(self, entry, path):
        return Driver(self.programs[id(entry)].result(), entry, self.references[entry.family.name].result(), path)


class Compilers:
    """The programs of each compiler: ours, and the one that ours is compared with if there is one."""

    def __init__(self, rows, options):
        self.path = options.path
        self.builds = [Builds(rows, Builder(options.flc, options.folder))]
        if options.than:
            self.builds.append(Builds(rows, Builder(options.than, pathlib.Path(options.folder) / "than")))

    def drivers(self, entry):
        return [builds.driver(entry, self.path) for builds in self.builds]


def measured(drivers, line):
    """Nanoseconds of each side; of several compilers in turn, twice, and the last one's as `than`."""
    if len(drivers) == 1:
        return drivers[0].measure(line)
    runs = [driver.measure(line) for driver in [*drivers, *reversed(drivers)]]
    least = {side: min(runs[0][side], runs[3][side], key=abs) for side in SIDES if side in runs[0]}
    return {**least, "than": min(runs[1]["ours"], runs[2]["ours"])}


def measure_rows(rows, options):
    """The outcome of each row; rows of an entry point share a process of each compiler."""
    compilers = Compilers(rows, options)
    entry, drivers = None, []
    for number, row in enumerate(rows):
        try:
            if row.entry is not entry:
                stop(drivers)
                entry, drivers = row.entry, []
                drivers = compilers.drivers(entry)
            elif not drivers:
                raise Failure("not built, as above")
            yield Outcome(row, {} if options.build else measured(drivers, request(number, row, options.seconds)))
        except Failure as failure:
            yield Outcome(row, {}, str(failure))
    stop(drivers)


def stop(drivers):
    for driver in drivers:
        driver.stop()


def geometric_mean(ratios):
    return math.exp(sum(map(math.log, ratios)) / len(ratios))


def summary_line(name, outcomes):
    found = [(judged(each.row, each.ratios()), each) for each in outcomes if not each.failure]
    failed = len(outcomes) - len(found)
    text = f"{name:12} {len(outcomes):4} rows"
    if found:
        (ratio, side, wanted), worst = min(found, key=lambda pair: pair[0][0] / pair[0][2])
        short = sum(each[0] < each[2] for each, _ in found)
        below = sum(each.ratios()["seq"] < 1 for _, each in found)
        text += (f"  mean {geometric_mean([each[0] for each, _ in found]):5.2f}  short {short:3}  below sequential {below:3}"
                 f"  worst {ratio_text(ratio).strip()} of {side} (wanted {wanted}): {worst.row.name()}")
    return text + (f"  FAILED {failed}" if failed else "")


def show_summary(outcomes):
    print("\nratio: ours against the yardstick that counts; short: rows below what is wanted (*)")
    for family in dict.fromkeys(each.row.entry.family.name for each in outcomes):
        print(summary_line(family, [each for each in outcomes if each.row.entry.family.name == family]))
    print(summary_line("all", outcomes))
    than = [each.ratios()["than"] for each in outcomes if "than" in each.times]
    if than:
        print(f"faster than the other compiler's by {geometric_mean(than):.2f} in the mean, {min(than):.2f} to {max(than):.2f}")


def saved(outcomes):
    return {each.row.name(): {"failure": each.failure} if each.failure else
            {"ns": each.times, "ratio": judged(each.row, each.ratios())[0]} for each in outcomes}


def arguments():
    parser = argparse.ArgumentParser(prog="./dev bench kernels", usage=argparse.SUPPRESS, description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter, add_help=False)
    parser.add_argument("flc")
    parser.add_argument("folder")
    parser.add_argument("patterns", nargs="*")
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--build", action="store_true")
    parser.add_argument("--seconds", type=float)
    parser.add_argument("--path", default="")
    parser.add_argument("--save")
    parser.add_argument("--before")
    parser.add_argument("--than")
    parser.add_argument("--help", action="help")
    options = parser.parse_intermixed_args()
    options.seconds = options.seconds or (0.1 if options.quick else 0.3)
    return options


def main():
    options = arguments()
    rows = [row for row in all_rows() if chosen(row, options) and (not options.than or made_otherwise(row, options))]
    if not rows:
        sys.exit("no row has such a name, or the compilers make the same of all; --list shows them")
    if options.list:
        print("\n".join(row.name() + ("  (large)" if row.large else "") for row in rows))
        return
    before = {}
    if options.before:
        with open(options.before, encoding="utf-8") as file:
            before = {name: each["ratio"] for name, each in json.load(file).items() if "ratio" in each}
    outcomes = []
    if os.getloadavg()[0] > os.cpu_count() / 2 and not options.build:
        print(f"the machine is busy (load {os.getloadavg()[0]:.1f}): OpenMP suffers more from that than we do", file=sys.stderr)
    for outcome in measure_rows(rows, options):
        outcomes.append(outcome)
        if outcome.times or outcome.failure:
            print(show(outcome, before), flush=True)
    if not options.build:
        show_summary(outcomes)
    if options.save:
        with open(options.save, "w", encoding="utf-8") as file:
            json.dump(saved(outcomes), file, indent=1)
    sys.exit(any(each.failure for each in outcomes))


if __name__ == "__main__":
    main()
