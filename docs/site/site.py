#!/usr/bin/env python3
"""The documents as a site with search, made by Sphinx: site.py FLC ROOT OUTPUT [--without-gallery]

OUTPUT/html is the site.  Links must lead somewhere, to headings as well; exit status 1 otherwise.  The gallery's pages
are made by `flc literate` on the device, one for each processor at a time, which takes a minute; those whose program and
compiler are as before are taken from OUTPUT/gallery.  Without them the links lead to the programs.
"""
import base64
import hashlib
import html
import html.parser
import math
import os
import re
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

# The order of the pages, by what they are for.
GROUPS = [
    ("First steps", ["tour", "from-numpy", "from-futhark", "from-cuda", "gallery"]),
    ("The language", ["language", "errors", "test-blocks", "packages", "literate", "editors"]),
    ("Programs", ["cli", "python", "c-api", "machines", "opencl", "cuda"]),
    ("Speed", ["advice", "reading-trees", "tuning", "tree-schema", "profiling", "recipes", "performance", "beside-c", "benchmarks"]),
    ("The compiler", ["status", "how-it-works", "kernels", "architecture", "changing"]),
]
BENCHMARKS = "benchmarks"  # its page comes from another folder
LEXERS = {"fl", "console", "c", "python", "cmake"}


def fences(text):
    """Only languages that have a lexer, without the names of files behind them."""
    return re.sub(r"^( *```)(\w+)[^\n]*$", lambda m: m[1] + (m[2] if m[2] in LEXERS else "text"), text, flags=re.M)


def page_text(path):
    text = path.read_text(encoding="utf-8")
    if path.parent.name == BENCHMARKS:
        text = text.replace("](../docs/", "](")
    text = text.replace("](../benchmarks/README.md)", f"]({BENCHMARKS}.md)")
    return fences(text)


def toctree(caption, names):
    return f"\n```{{toctree}}\n:caption: {caption}\n:hidden:\n\n" + "\n".join(names) + "\n```\n"


def write_sources(root, folder):
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    listed = {name for _, names in GROUPS for name in names} | {"index"}
    pages = {path.stem: path for path in sorted((root / "docs").glob("*.md"))}
    pages[BENCHMARKS] = root / "benchmarks/README.md"
    if listed != set(pages):
        raise SystemExit(f"pages of docs/ and of docs/site/site.py differ: {sorted(listed ^ set(pages))}")
    for name, path in pages.items():
        (folder / f"{name}.md").write_text(page_text(path), encoding="utf-8")
    with open(folder / "index.md", "a", encoding="utf-8") as index:
        index.writelines(toctree(*group) for group in GROUPS)


def draw_trees(flc, root, folder):
    """The pictures of how-it-works.md."""
    folder.mkdir()
    for name in ["matmul", "locvolcalib"]:
        tree = subprocess.run([flc, "tree", str(root / f"benchmarks/{name}.fl"), "--format", "dot"], check=True,
                              stdout=subprocess.PIPE).stdout
        subprocess.run(["dot", "-Tsvg", "-o", str(folder / f"{name}.svg")], input=tree, check=True)


def table_under(text, heading):
    """The cells of the first table under the heading."""
    part = text.split(f"\n## {heading}\n")[1]
    lines = re.search(r"(?:^\|.*\n)+", part, re.M)[0].splitlines()
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines if not line.startswith("|--")]


def draw_curves(root, path):
    """The picture of machines.md: its table of speed-ups, both axes by doublings, with one core per worker as a dashed line."""
    head, *rows = table_under((root / "docs/machines.md").read_text(encoding="utf-8"), "What more workers would gain")
    counts = [int(re.search(r"\d+", cell)[0]) for cell in head[2:]]
    left, top, step, doublings = 45, 15, 42, 10

    def at(workers, gain):
        return f"{left + step * math.log2(workers):.1f},{top + step * (doublings - math.log2(gain)):.1f}"

    size = step * doublings
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {left + size + 190} {top + size + 45}" font-family="sans-serif" font-size="12">',
           '<rect width="100%" height="100%" fill="white"/>']
    for k in range(0, doublings + 1, 2):
        x, y = left + step * k, top + size - step * k
        out += [f'<path d="M{x},{top}V{top + size}M{left},{y}H{left + size}" stroke="#ddd"/>',
                f'<text x="{x}" y="{top + size + 16}" text-anchor="middle">{2 ** k}</text>', f'<text x="{left - 6}" y="{y + 4}" text-anchor="end">{2 ** k}</text>']
    out += [f'<text x="{left + size / 2}" y="{top + size + 36}" text-anchor="middle">workers</text>',
            f'<path d="M{at(1, 1)}L{at(1024, 1024)}" stroke="black" stroke-dasharray="4"/>']
    lowest = top - 14
    for k, (name, _, *gains) in enumerate(sorted(rows, key=lambda row: -float(row[-1]))):
        colour = f"hsl({k * 360 // len(rows)}, 70%, 40%)"
        points = [at(1, 1)] + [at(count, float(gain)) for count, gain in zip(counts, gains)]
        lowest = max(lowest + 14, float(points[-1].split(",")[1]))  # names do not lie on each other
        out += [f'<polyline points="{" ".join(points)}" fill="none" stroke="{colour}" stroke-width="1.5"/>',
                f'<text x="{left + size + 6}" y="{lowest + 4:.1f}" fill="{colour}">{html.escape(name.replace("`", ""))}</text>']
    path.write_text("\n".join(out + ["</svg>"]) + "\n", encoding="utf-8")


def first_picture(page):
    """The first picture of a self-contained page, beside it; its name."""
    kind, data = re.search(r'<img src="data:image/(\w+)[^,"]*,([^"]*)"', page.read_text(encoding="utf-8")).groups()
    picture = page.with_suffix(f".{kind}")
    picture.write_bytes(base64.b64decode(data))
    return picture.name


def gallery_link(site, name, with_pages):
    ending = "html" if with_pages else "fl"
    picture = ""
    if with_pages:
        file = first_picture(site / "examples" / f"{name}.html")
        picture = f'<img src="examples/{file}" alt="" width="120" style="display: block" loading="lazy">'
    return f'<a href="examples/{name}.{ending}">{picture}<code>{name}</code></a>'


def gallery_page(flc, program, kept):
    """The page of a program; it has the same name as long as program and compiler are the same."""
    content = hashlib.sha256(program.read_bytes() + Path(shutil.which(flc)).read_bytes()).hexdigest()[:16]
    page = kept / f"{program.stem}-{content}.html"
    if not page.exists():
        for old in kept.glob(f"{program.stem}-*.html"):
            old.unlink()
        unfinished = page.with_suffix(".part")
        subprocess.run([flc, "literate", "--html", str(program), "-o", str(unfinished)], check=True)
        unfinished.rename(page)
    return page


def add_gallery(flc, root, folder, site, with_pages):
    """The pages of the gallery, or its programs; and links to them, with a picture of each page."""
    (site / "examples").mkdir(parents=True, exist_ok=True)
    programs = sorted((root / "examples").glob("*.fl"))
    if with_pages:
        kept = site.parent / "gallery"
        kept.mkdir(exist_ok=True)
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            pages = list(pool.map(lambda program: gallery_page(flc, program, kept), programs))
        for program, page in zip(programs, pages):
            shutil.copy(page, site / "examples" / f"{program.stem}.html")
    else:
        for program in programs:
            shutil.copy(program, site / "examples")
    gallery = folder / "gallery.md"
    text = re.sub(r"\[`(\w+)`\]\(\.\./examples/\w+\.fl\)", lambda link: gallery_link(site, link[1], with_pages),
                  gallery.read_text(encoding="utf-8"))
    gallery.write_text(text, encoding="utf-8")


def mend_theme(static):
    """Debian's package of the theme holds sources in places: a script with an import, which browsers refuse in
    scripts that are no modules, and styles whose compiler has dropped those for systems that are set to dark."""
    scripts, styles = static / "scripts", static / "styles/furo.css"
    script = (scripts / "furo.js").read_text(encoding="utf-8")
    script = re.sub(r'^import \w+ from "\./([\w-]+\.js)";$',
                    lambda found: (scripts / found[1]).read_text(encoding="utf-8"), script, flags=re.M)
    if re.search(r"^import\b", script, flags=re.M):
        raise SystemExit("the script of the theme imports what is not known here")
    (scripts / "furo.js").write_text(script, encoding="utf-8")
    style = styles.read_text(encoding="utf-8")
    if "prefers-color-scheme" in style:
        return
    dark = re.search(r'^@media not print \{\n(  body\[data-theme="dark"\] \{.*?) \}\n$', style, flags=re.M | re.S)
    if not dark:
        raise SystemExit("the theme has no colours for systems that are set to dark")
    rules = dark[1].replace('body[data-theme="dark"]', 'body:not([data-theme="light"])')
    styles.write_text(f"{style}\n@media not print {{ @media (prefers-color-scheme: dark) {{\n{rules} }} }}\n", encoding="utf-8")


class Links(html.parser.HTMLParser):
    def __init__(self, path):
        super().__init__()
        self.ids, self.links = set(), []
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag, attrs):
        attrs = dict(attrs)
        self.ids.add(attrs.get("id"))
        if tag == "a" and "href" in attrs:
            self.links.append(attrs["href"])


def broken_links(site):
    pages = {path.name: Links(path) for path in site.glob("*.html")}
    for name, page in pages.items():
        for link in page.links:
            path, _, place = link.partition("#")
            if re.match(r"[a-z]+:", link):
                continue
            target = pages.get(path or name)
            exists = target or (site / path).exists()
            if not exists or (target and place and place not in target.ids):
                yield f"{name}: {link}"


def main():
    flc, root, output = sys.argv[1], Path(sys.argv[2]).resolve(), Path(sys.argv[3]).resolve()
    if shutil.which("sphinx-build") is None:
        print("there is no sphinx-build (Debian: python3-sphinx, python3-myst-parser, furo)")
        sys.exit(77)
    source, site = output / "source", output / "html"
    shutil.rmtree(site, ignore_errors=True)
    write_sources(root, source)
    draw_trees(flc, root, source / "generated")
    draw_curves(root, source / "generated/scaling.svg")
    add_gallery(flc, root, source, site, "--without-gallery" not in sys.argv)
    command = ["sphinx-build", "-q", "-W", "--keep-going", "-b", "html", "-c", str(root / "docs/site"),
               "-d", str(output / "doctrees"), str(source), str(site)]
    if subprocess.run(command, check=False).returncode:
        sys.exit(1)
    mend_theme(site / "_static")
    broken = list(broken_links(site))
    print("\n".join(broken) if broken else f"{site}/index.html")
    sys.exit(1 if broken else 0)


if __name__ == "__main__":
    main()
