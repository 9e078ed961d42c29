#!/usr/bin/env python3
"""What flc doc writes: doc.py FLC."""
import pathlib
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).parent))
from html_page import Page  # noqa: E402

MAIN = """\
-- | Vectors & <matrices>. The rest.
--
-- Use `dot` for products.
-- ==
-- entry: dot
-- input { [1f32] [2f32] } output { 2f32 }

import "sub/types"
module o = import "sub/order"

-- | The inner product; see `vec.t`, `point`, `o.sort` and `unknown`:
--
-- - one `+^`
-- - two
--   lines
--
--     let x = dot a b <c>
--
-- ```
-- fenced & <script>
-- ```
def dot [n] (xs: [n]f32) (ys: [n]f32) : f32 = f32.sum (map2 (*) xs ys)

-- | Without types; `dot`@term or `dot`@term@"sub/types", not `dot`@terms.
def scaled k xs = map (* k) xs
def right (p: point) = filter (> p.x)
def (+^) (a: point) (b: point) : point = {x = a.x + b.x, y = a.y + b.y}

-- | What vectors are.
module type vec = {
  -- | The scalars <t>.
  type t
  val add : t -> t -> t
}
module v : vec with t = f32 = {
  type t = f32
  def add (a: t) (b: t) : t = a + b
  def secret = 3i32
}
module mk (P: vec) = {
  -- | All.
  def total [n] (xs: [n]P.t) (z: P.t) : P.t = reduce P.add z xs
}
module k = mk v
module pairs_of (P: vec) : { type both
  val twice : P.t -> both } = {
  type both = (P.t, P.t)
  -- | It twice.
  def twice (x: P.t) : both = (x, P.add x x)
  def unseen = 1i32
}
module kk = pairs_of {
  type t = i64
  def add (a: t) (b: t) = a + b
}
local def hidden = 3i32
-- | Runs.
entry go (n: i64) : ?[k].[k]i64 = filter (> 3) (iota n)
"""
TYPES = """\
-- | Points of the plane.
type point = {x: f32, y: f32}
type pairs [n] 't = [n](t, point)
"""
ORDER = """\
-- | Orders.

-- | Sorts.
def sort [n] (xs: [n]i32) : [n]i32 = xs
"""


def run(flc, *words):
    return subprocess.run([flc, "doc", *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False)


def pages(folder):
    """All pages of a folder, whose links lead to places within it."""
    found = {path.name: Page(path) for path in sorted(pathlib.Path(folder).glob("*.html"))}
    for page in found.values():
        page.check_links(alone=False)
        for link in page.links:
            name, _, place = link.partition("#")
            assert not name or name in found, f"{page.path}: {link}"
            assert not place or place in found.get(name, page).ids, f"{page.path}: {link}"
    return found


def has(text, *parts):
    for part in parts:
        assert part in text, f"{part!r} is missing in {text!r}"


def a_page_tells_types_and_comments(found):
    page = found["a--b-.html"]
    has(page.text, "Vectors & <matrices>. The rest. Use dot for products.", "Imports sub/types, sub/order as o.",
        "def dot [n] (xs: [n]f32) (ys: [n]f32) : f32", "and unknown:",
        "one +^ two lines let x = dot a b <c>", "fenced & <script>", "def (+^) (a: point) (b: point) : point",
        "module type vec = { ... }", "The scalars <t>.", "val add : t -> t -> t", "module v : vec with t = f32",
        "module mk (P: vec) = { ... }", "All.", "module k = mk v", "val total [n] : [n]f32 -> f32 -> f32", "type bothsource", "val twice : i64 -> ", "entry go (n: i64) : ?[k].[k]i64", "Runs.")
    assert page.text.count("All.") == 2 and page.text.count("It twice.") >= 1, page.text
    for word in ("==", "input {", "secret", "hidden", "unseen"):
        assert word not in page.text, word


def types_that_were_inferred_are_there(found):
    has(found["a--b-.html"].text, "Without types; dot or dot, not dot@terms.")
    has(found["a--b-.html"].text, "def scaled [n] (k: i32) (xs: [n]i32) : *[n]i32")
    right = [piece for piece in found["a--b-.html"].text.split("def ") if piece.startswith("right")][0]
    assert "?[?" not in right and "?[k" in right and right.startswith("right [n] (p: point) : [n]f32 -> "), right


def links_lead_to_definitions(found):
    links = found["a--b-.html"].links
    for link in ("sub-types.html#t.point", "sub-order.html", "sub-order.html#v.sort", "a--b-.html#t.vec.t", "a--b-.html#v..2b.5e",
                 "a--b-.html#s.vec", "a--b-.html#m.mk", "a--b-.html#m.v"):
        assert link in links, (link, links)
    assert "a--b-.html#m.k" not in links, "a size is no module"
    assert links.count("a--b-.html#t.vec.t") == 1 + 3 + 3 + 3, (links, "`vec.t`, t -> t -> t, P.t in mk.total, pairs_of")
    lines = MAIN.splitlines()
    at = 1 + next(i for i, line in enumerate(lines) if line.startswith("def dot"))
    assert f"a--b-.source.html#line-{at}" in links, links


def sources_are_whole(found):
    rows = found["a--b-.source.html"].rows
    assert [row[1] for row in rows] == MAIN.splitlines()
    assert [int(row[0]) for row in rows] == list(range(1, len(rows) + 1))


def the_index_lists_modules_and_names(found):
    page = found["index.html"]
    assert ["a <b>", "Vectors & <matrices>."] in page.rows and ["sub/order", "Orders."] in page.rows, page.rows
    names = [row[0].split()[0] for row in page.rows if len(row) == 3]
    assert names == sorted(names, key=lambda name: name.strip("()")), names
    assert "sort" in names and "(+^)" in names and "vec.t" in names and "v.secret" not in names, names
    has(page.text, "mk.total a <b> All.")


def the_prelude_has_pages(flc, folder):
    done = run(flc, "--prelude", "-o", f"{folder}/prelude")
    assert done.returncode == 0 and not done.stderr, done
    found = pages(f"{folder}/prelude")
    has(found["soacs.html"].text, "def map 'a [n] 'x (f: a -> x) (as: [n]a) : *[n]x")


def a_comment_alone_may_be_the_files(flc, folder):
    inside = pathlib.Path(folder, "alone")
    inside.mkdir()
    texts = {"apart": "-- | Of the file.\n\ndef f = 1i32\n", "import": '-- | Of the file.\nimport "apart"\ndef g = f\n',
             "tests": "-- | Of the file.\n-- ==\n-- entry: h\n\n-- plain\n\nentry h = 1i32\n",
             "close": "-- | Of d.\ndef d = 1i32\n", "behind": "def e = 1i32\n\n-- | Of d.\n\ndef d = 1i32\n"}
    for name, text in texts.items():
        (inside / f"{name}.fl").write_text(text, encoding="utf-8")
    done = run(flc, str(inside), "-o", f"{folder}/alone-out")
    assert done.returncode == 0 and not done.stderr, done
    found = pages(f"{folder}/alone-out")
    for name in ("apart", "import", "tests"):
        assert [name, "Of the file."] in found["index.html"].rows, found["index.html"].rows
    for name in ("close", "behind"):
        assert [name, "Of d."] not in found["index.html"].rows
        has(found[f"{name}.html"].text, "Of d.")


def what_cannot_be_done_is_said(flc, folder):
    bad = pathlib.Path(folder, "bad.fl")
    bad.write_text("def f (x: i32) : f32 = x\n", encoding="utf-8")
    pathlib.Path(folder, "file").write_text("", encoding="utf-8")
    for words, message in (([str(bad), "-o", f"{folder}/new"], "bad.fl:1:"), (["absent.fl", "-o", f"{folder}/new"], "absent.fl"),
                           ([], "expected a file"), ([f"{folder}/in/sub", "-o", f"{folder}/no/where"], "cannot make")):
        done = run(flc, *words)
        assert done.returncode == 1 and message in done.stderr and not done.stdout, done
        assert not pathlib.Path(folder, "new").exists()
    done = run(flc, f"{folder}/in/sub", "-o", f"{folder}/file")
    assert done.returncode == 1 and "cannot write" in done.stderr, done


def main(flc):
    with tempfile.TemporaryDirectory() as folder:
        inside = pathlib.Path(folder, "in")
        (inside / "sub").mkdir(parents=True)
        for name, text in (("a <b>.fl", MAIN), ("sub/types.fl", TYPES), ("sub/order.fl", ORDER)):
            (inside / name).write_text(text, encoding="utf-8")
        done = run(flc, str(inside / "a <b>.fl"), "--title", "L & <M>", "-o", f"{folder}/out")
        assert done.returncode == 0 and not done.stderr, done
        found = pages(f"{folder}/out")
        has(found["index.html"].text, "L & <M>")
        for check in (a_page_tells_types_and_comments, types_that_were_inferred_are_there, links_lead_to_definitions,
                      sources_are_whole, the_index_lists_modules_and_names):
            check(found)
        done = run(flc, str(inside), "-o", f"{folder}/all")
        assert done.returncode == 0 and set(pages(f"{folder}/all")) == set(found), done
        the_prelude_has_pages(flc, folder)
        a_comment_alone_may_be_the_files(flc, folder)
        what_cannot_be_done_is_said(flc, folder)
    print("all passed")


main(sys.argv[1])
