"""The kernels of a program as they stand in the C text that flc makes."""
import ast
import os
import re
import subprocess
import tempfile

TABLE = re.compile(r'static const char \*const (\w+)\[\] = \{((?:\n  "(?:[^"\\\n]|\\.)*",?)*)\n  NULL,\n\};')
KERNEL = re.compile(r'\{ "([^"]*)", (\w+), (true|false), (true|false), (true|false), (\w+), (\d+), (true|false), "\w*", '
                    r'(true|false), (-?\d+), (-?\d+), (?:NULL|"[^"]*"), (?:true|false) \}')
GROUP = 256


def literal(text):
    """The value of a string literal of C; of what is special in Python flc writes nothing but \\?."""
    return ast.literal_eval(text.replace("\\?", "?"))


class Kernel:
    """A kernel of the code for GPUs: its text, and what it is compiled together with."""

    def __init__(self, row, tables):
        self.name, self.text = row[0], tables[row[1]]
        self.uses_f64, self.for_gpu, self.sized = row[3] == "true", row[4] == "true", row[8] == "true"
        self.batch = int(row[9])

    def has_local(self):
        """Whether it has arrays in local memory."""
        return "FLC_LOCAL_ARRAY(" in self.text

    def options(self):
        """As runtime/build.h makes them."""
        words = ["-DFLC_F64"] if self.uses_f64 else []
        words += [f"-DFLC_GROUP_SIZE={GROUP}", f"-DFLC_GROUP_STEPS={GROUP.bit_length() - 1}",
                  "-DFLC_SUB_STEPS=5"] if self.sized else []
        return words + ["-DFLC_GPU", "-DFLC_NARROW"]


class Program:
    """The kernels of a program for GPUs, and what stands before them in CUDA C++."""

    def __init__(self, flc, path, flags=()):
        with tempfile.TemporaryDirectory() as folder:
            out = os.path.join(folder, "program.c")
            done = subprocess.run([flc, "build", path, "--emit-c", "-o", out, *flags], stdout=subprocess.DEVNULL,
                                  stderr=subprocess.PIPE, text=True, check=False)
            self.problem = done.stderr if done.returncode else ""
            text = "" if done.returncode else open(out, encoding="utf-8").read()
        tables = {name: "".join(literal(row) for row in re.findall(r'^  ("(?:[^"\\]|\\.)*"),?$', rows, re.M))
                  for name, rows in TABLE.findall(text)}
        self.opencl = tables.get("opencl_prelude", "")
        self.words = tables.get("cuda_words", "") + self.opencl
        rows = text[text.find("program_kernels[] = {"):]
        self.kernels = [k for k in (Kernel(row, tables) for row in KERNEL.findall(rows)) if k.for_gpu]
        if not self.problem and "_text, " in rows and not self.kernels:
            raise ValueError("the table of kernels has rows of another form")

    def distinct(self):
        """The kernels without those that have the text of one before them."""
        found = {}
        for kernel in self.kernels:
            found.setdefault((kernel.text, *kernel.options()), kernel)
        return list(found.values())

    def source(self, kernels, words=None):
        """One text of several kernels, behind the words of CUDA or others; number i is flc_kernel_<i>."""
        parts = [words or self.words]
        for number, kernel in enumerate(kernels):
            parts.append(f"\n#undef flc_kernel\n#define flc_kernel flc_kernel_{number}\n{kernel.text}")
        return "".join(parts)
