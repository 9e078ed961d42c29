#!/usr/bin/env python3
"""Every page that a source file or a page cites is there, with the words that are cited of it: `docs/opencl.md`,
`docs/opencl.md, "Reductions"`.  So is every source file that a comment or a page about the compiler cites, by its name or
the end of its path: `lower/wide*.c`, `kern/schedules/chunks.c`."""
import fnmatch
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
TEXTS = ["", ".c", ".h", ".cl", ".def", ".fl", ".md", ".py", ".sh", ".build"]
PAGE = re.compile(r'([\w./-]*\w\.md)\b(?:#[\w-]+)?\)?(?:, "([^"]+)")?')
FILE = re.compile(r'(?<![\w./*"-])((?:\.\./)*[\w/*-]+\.(?:c|h|cl|def))\b(?!\()')
ABOUT_US = ["docs/architecture.md", "docs/changing.md", "docs/kernels.md", "docs/opencl.md"]
FOLDERS = ["compiler", "bindings/python/flc", "bindings/python/tests", "bindings/python/README.md", "runtime", "tuner", "prelude", "tests", "docs", "benchmarks", "dev", "meson.build", "README.md"]


def page_of(name, source):
    for folder in (ROOT, ROOT / "docs", source.parent):
        if (folder / name).is_file():
            return folder / name
    return None


def problems(source):
    text = source.read_text(encoding="utf-8", errors="replace")
    text = re.sub(r"\n\s*(//|--|#)?\s*", " ", text)  # citations go on in the next line of a comment
    for name, words in PAGE.findall(text):
        if "$" in name or name.startswith("here/"):
            continue
        page = page_of(name, source)
        if not page:
            yield f"{name} is not there"
        elif words and words not in page.read_text(encoding="utf-8"):
            yield f'{name} does not say "{words}"'


def text_about_us(source):
    """Where it may cite files of ours: comments, and some pages."""
    text = source.read_text(encoding="utf-8", errors="replace")
    if source.suffix in (".c", ".h", ".cl", ".def"):
        return " ".join(re.findall(r"//([^\n]*)", text))
    return text if source.relative_to(ROOT).as_posix() in ABOUT_US else ""


def missing_files(source, files):
    for name in FILE.findall(text_about_us(source)):
        pattern = "*/" + name.lstrip("./")
        if "NAME" not in name and not any(fnmatch.fnmatch(file, pattern) for file in files):
            yield f"{name} is not there"


def sources():
    for name in FOLDERS:
        path = ROOT / name
        yield from [path] if path.is_file() else sorted(path.rglob("*"))


def main():
    failed = False
    files = ["/" + path.relative_to(ROOT).as_posix() for path in sources() if path.is_file()]
    for path in sources():
        if path.suffix not in TEXTS or not path.is_file() or path == Path(__file__).resolve():
            continue
        for problem in [*problems(path), *missing_files(path, files)]:
            print(f"{path.relative_to(ROOT)}: {problem}")
            failed = True
    return failed


sys.exit(main())
