#!/usr/bin/env python3
"""What flc literate writes: literate.py FLC html|plain.  "html": it was built with a reader of Markdown."""
import base64
import pathlib
import re
import shutil
import struct
import subprocess
import sys
import tempfile
import zlib

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).parent))
from html_page import Page  # noqa: E402

folder = None
flc = None


def run(text, *options, status=0, name="a.fl"):
    """The document made of a program, and what was said."""
    (folder / name).write_text(text)
    done = subprocess.run([flc, "literate", name, *options], cwd=folder, capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == status, done
    page = folder / (name.rsplit(".", 1)[0] + (".html" if "--html" in options else ".md"))
    return (page.read_text() if page.exists() else None), done.stderr


def interpreted(text, **more):
    return run(text, "--interpret", **more)[0]


# ---- pictures

def chunks(png):
    assert png[:8] == b"\x89PNG\r\n\x1a\n"
    at = 8
    while at < len(png):
        length, kind = struct.unpack(">I4s", png[at:at + 8])
        data = png[at + 8:at + 8 + length]
        assert struct.unpack(">I", png[at + 8 + length:at + 12 + length])[0] == zlib.crc32(kind + data)
        yield kind.decode(), data
        at += 12 + length


def pixels(head, data):
    width, height, bits, colour = struct.unpack(">IIBB", head[:10])
    assert bits == 8
    size, raw, rows = width * {0: 1, 2: 3}[colour], zlib.decompress(data), []
    assert len(raw) == height * (size + 1)
    for y in range(height):
        row = raw[y * (size + 1):(y + 1) * (size + 1)]
        assert row[0] == 2  # each byte is a difference to the one above
        above = rows[-1] if rows else [0] * size
        rows.append([(a + b) & 255 for a, b in zip(above, row[1:])])
    return rows


def picture(name):
    parts = list(chunks((folder / name).read_bytes()))
    assert [kind for kind, _ in parts] == ["IHDR", "IDAT", "IEND"]
    return pixels(parts[0][1], parts[1][1])


def text_and_code_alternate():
    page = interpreted("-- # Title\n--\n-- Some *text*\n-- goes on.\n\n-- Next.\ndef a = 1i32\n\n\ndef b =\n  -- inner\n  a\n-- Last.\n"
                       "-- | Of c.\nentry c = b\n--not text\n\n-- > b\n\n-- ==\n-- entry: c\n-- input {} output { 1 }\n")
    assert page == ("# Title\n\nSome *text*\ngoes on.\n\nNext.\n\n```fl\ndef a = 1i32\n\n\ndef b =\n  -- inner\n  a\n```\n\nLast.\n\n"
                    "```fl\n-- | Of c.\nentry c = b\n--not text\n```\n\n```\n> b\n```\n\n```\n1i32\n```\n\n"
                    "```fl\n-- ==\n-- entry: c\n-- input {} output { 1 }\n```\n\n"), page


def quotes_of_markdown_are_no_directives():
    page = interpreted("-- As they say:\n-- > quoted\n")
    assert page == "As they say:\n> quoted\n\n", page


def fences_are_longer_than_what_they_hold():
    page = interpreted("-- Text.\n\ndef a = 1 -- ````\n")
    assert "`````fl\ndef a = 1 -- ````\n`````\n" in page, page


def values_of_any_type_are_shown():
    page = interpreted("def f (x: i32) = {a = x, b = (x, true)}\n\n-- > f 3\n\n-- > [1.5f32, 2]\n\n-- > map f\n--     [1]\n"
                       "-- > (#some 1 : #some i32 | #none)\n")
    for value in ["{a = 3i32, b = (3i32, true)}", "[1.5f32, 2.0f32]", "[{a = 1i32, b = (1i32, true)}]", "#some 1i32"]:
        assert f"\n```\n{value}\n```\n" in page, (value, page)
    assert "> map f\n    [1]\n" in page, page


def the_device_computes_the_same():
    text = ("def f [n] (xs: [n]f32) = (f32.sum xs, {least = f32.minimum xs})\n\n-- > f [1, 2, 3.5]\n\n-- > filter (> 2) (iota 6)\n\n"
            "-- > let (a, b) = $loaddata \"d\" in map (+ b) a\n\n-- > :img [[0, 0xff0000], [0x00ff00, 0x0000ffu32]]\n\n"
            "-- > [1, 2][f32.to_i64 (f [4]).0]\n\n-- > :video (\\(s: u8) -> (replicate 2 (replicate 3 s), s + 20), 100, 3)\n")
    text = text.replace("f32.to_i64", "i64.f32")
    (folder / "d").write_text("[1i32, 2i32] 4i32")
    page, said = run(text, status=1)
    other, also = run(text, "--interpret", status=1)
    assert page == other and said == also, (page, other, said, also)
    for value in ["(6.5f32, {least = 1.0f32})", "[3i64, 4i64, 5i64]", "[5i32, 6i32]"]:
        assert f"\n```\n{value}\n```\n" in page, (value, page)
    assert "a.fl:11:6: error: Index [4] out of bounds for array of shape [2].\n   11 | -- > [1, 2][" in said, said
    assert picture("a-img/4.png") == [[0, 0, 0, 255, 0, 0], [0, 255, 0, 0, 0, 255]]


def images_have_the_colours_of_their_types():
    interpreted("-- > :img [[0f32, 0.5, 1], [-1, f32.nan, 7]]\n\n-- > :img [[0f64, 1]];\n-- file: bw.png\n\n-- > :img [[3u8, 255]]\n\n"
                "-- > :img [[true], [false]]\n\n-- > :img [[-1i32]]\n")
    assert picture("a-img/1.png") == [[0, 128, 255], [0, 0, 255]]
    assert picture("a-img/bw.png") == [[0, 255]]
    assert picture("a-img/3.png") == [[3, 255]]
    assert picture("a-img/4.png") == [[255], [0]]
    assert picture("a-img/5.png") == [[255, 255, 255]]


def videos_are_animated_pngs():
    page = interpreted("-- > :video map (\\i -> [[i, 2 * i]]) [1u8, 2, 3];\n-- fps: 5\n-- repeat: false\n")
    assert "](<a-img/1.png>)" in page, page
    parts = list(chunks((folder / "a-img/1.png").read_bytes()))
    assert [kind for kind, _ in parts] == ["IHDR", "acTL", "fcTL", "IDAT", "fcTL", "fdAT", "fcTL", "fdAT", "IEND"]
    assert parts[1][1] == struct.pack(">II", 3, 1)
    assert [struct.unpack(">I", data[:4])[0] for kind, data in parts if kind in ("fcTL", "fdAT")] == [0, 1, 2, 3, 4]
    assert all(data[4:24] == struct.pack(">IIIIHH", 2, 1, 0, 0, 1, 5) for kind, data in parts if kind == "fcTL")
    frames = [parts[3][1]] + [data[4:] for kind, data in parts if kind == "fdAT"]
    assert [pixels(parts[0][1], data) for data in frames] == [[[1, 2]], [[2, 4]], [[3, 6]]]


def plots_are_drawn_to_scale():
    page = interpreted("-- > :brief :plot2d ([0, 10, 20], [0f32, 5, -5]);\n-- size: (200, 400)\n\n"
                       "-- > :covert :plot2d {up = ([0, 1], [0, 1]), \n--   down = ([0, 1, 2, 3], [1, f64.nan, f64.inf, 0])}\n")
    assert "```\n> :plot2d ([0, 10, 20], [0f32, 5, -5])\n```" in page and "size" not in page and "> :plot2d {" not in page, page
    plot = (folder / "a-img/1.svg").read_text()
    assert 'width="400" height="200"' in plot, plot
    points = [tuple(map(float, p.split())) for p in re.split("[ML]", re.search(r' d="([^"]*)"', plot)[1])[1:]]
    (x0, y0), (x1, y1), (x2, y2) = points
    assert abs(x1 - (x0 + x2) / 2) < 0.11 and x0 < x2 and abs(y0 - (y1 + y2) / 2) < 0.11 and y1 < y2, points
    both = (folder / "a-img/2.svg").read_text()
    assert both.count("<path") == 2 and ">up</text>" in both and ">down</text>" in both, both
    assert re.search(r' d="M[^LM]*M[^LM]*"', both), both


def tables_have_a_column_for_each_vector():
    page = interpreted("-- > :table {x = iota 2, y = [0.5f32, 1e10], b = [true, false]}\n\n-- > :table [[1u8, 255], [3, 4]]\n")
    assert "| b | x | y |\n|--:|--:|--:|\n| true | 0 | 0.5 |\n| false | 1 | 1e+10 |\n" in page, page
    assert "| 0 | 1 |\n|--:|--:|\n| 1 | 255 |\n| 3 | 4 |\n" in page, page


def sounds_are_waves():
    interpreted("-- > :audio [[1i16, 2], [-1, -2]];\n-- sampling_frequency: 8000\n\n-- > :audio [-1i8, 1]\n")
    wave = (folder / "a-img/1.wav").read_bytes()
    assert wave[20:36] == struct.pack("<HHIIHH", 1, 2, 8000, 32000, 4, 16) and wave[44:] == struct.pack("<4h", 1, -1, 2, -2), wave
    assert (folder / "a-img/2.wav").read_bytes()[44:] == bytes([127, 129])


def sounds_are_read():
    def chunk(name, data):
        return name + struct.pack("<I", len(data)) + data + b"\0" * (len(data) % 2)

    def wave(kind, channels, bits, samples, rest=b""):
        head = struct.pack("<HHIIHH", kind, channels, 8000, 0, 0, bits) + rest
        body = chunk(b"fmt ", head) + chunk(b"LIST", b"odd") + chunk(b"data", samples)
        return b"RIFF" + struct.pack("<I", 4 + len(body)) + b"WAVE" + body
    extended = struct.pack("<HHIH", 22, 24, 0, 1) + bytes(14)
    sounds = [(wave(1, 2, 16, struct.pack("<5h", 16384, -32768, 0, 8192, 7)), "[[0.5, 0.0], [-1.0, 0.25]]"),
              (wave(1, 1, 8, bytes([128, 0, 192])), "[[0.0, -1.0, 0.5]]"),
              (wave(0xfffe, 1, 24, bytes([0, 0, 0x40, 0, 0, 0xc0]), extended), "[[0.5, -0.5]]"),
              (wave(1, 1, 32, struct.pack("<i", 1 << 29)), "[[0.25]]"),
              (wave(3, 1, 32, struct.pack("<2f", 0.75, -2)), "[[0.75, -2.0]]"),
              (wave(3, 2, 64, struct.pack("<2d", 0.1, 1)), "[[0.1], [1.0]]")]
    for i, (bytes_, _) in enumerate(sounds):
        (folder / f"{i}.wav").write_bytes(bytes_)
    directives = "\n\n".join(f'-- > $loadaudio "{i}.wav"' for i in range(len(sounds)))
    page = interpreted(directives + "\n").replace("f64", "")
    for _, values in sounds:
        assert values in page, (values, page)
    (folder / "no.wav").write_bytes(b"RIFF1234WAVEfmt ")
    page = interpreted('-- > $loadaudio "no.wav"\n', status=1)
    assert "no sound" in page or "ffmpeg" in page, page



def bytes_and_files_are_read():
    (folder / "b").write_bytes(b"\x01\xff")
    page = interpreted("-- > $loadbytes \"b\"\n")
    assert "[1u8, 255u8]" in page, page


def mistakes_have_places():
    page, said = run("def f (x: i32) = x + 1\n\n-- > f 2\n\n-- > f true\n\n-- > f (2\n\n-- > f 1 def x = 3\n\n-- >   g\n--     + h 1\n\n-- > f\n\n"
                     "-- > :brief\n\n-- > :image f 3\n\n-- > :img f 3\n\n-- > :img replicate 0 [1f32]\n\n-- > $loaddata \"none\"\n\n"
                     "-- > $load \"d\"\n\n-- > :video [[true]]\n\n-- > :plot2d ([1, 2], [3])\n\n-- > :img [[true]];\n-- file: ../x\n\n"
                     "-- > :video [[[true]]];\n-- fps: 0\n\n-- > :audio [true]\n\n-- > :table [1]\n-- > :img f 3\n\n"
                     "-- > :video (f, 1)\n\n-- > :video (\\s -> ([[s]], s), 1i32, 2i32)\n\n-- > []\n\n"
                     "-- > :img [[true]]; fps: 3\n\n-- > 1;\n-- file: x\n", "--interpret", status=1)
    for place, message in [("5:8", "argument 1 of `f` has type `bool`, expected `i32`"), ("7:10", r"expected .*found end of file"),
                           ("9:10", "expected end of file after '1', found 'def'"), ("11:8", "unknown name `g`"), ("12:10", "unknown name `h`"),
                           ("14:6", "the expression is a function: i32 -> i32"), ("16:12", "expected an expression"),
                           ("18:6", "unknown directive `:image`: expected `:img`"), ("20:11", "expected a 2-dimensional array .*found i32"),
                           ("22:11", r"there is nothing to see in \[0\]\[1\]f32"), ("24:6", "cannot read none: No such file"),
                           ("26:6", r"unknown builtin `\$load`"), ("28:13", "expected a 3-dimensional array"),
                           ("30:14", "expected a pair of arrays of numbers"), ("32:11", "`file: ../x`: expected a name"),
                           ("35:13", "`fps: 0`: expected a number from 1 to 1000"), ("38:13", "expected samples"),
                           ("41:11", "expected a 2-dimensional array of u32"),
                           ("43:13", r"expected `\(step, start, n\)`"), ("45:13", r"expected `\(step, start, n\)`"),
                           ("47:6", r"the expression cannot be polymorphic: its type is `\[0\]a`"),
                           ("49:11", "the directive has no parameter `fps`; it has: file"), ("51:6", "the directive has no parameter `file`$")]:
        assert re.search(rf"^a\.fl:{place}: error: ({message})", said, re.M), (place, said)
    assert "\n```\n3i32\n```\n" in page and page.count("**This failed:**") == len(re.findall(r"^a\.fl:(?!12)\d+:\d+: error", said, re.M)), (page, said)


def nothing_is_written_after_errors_if_that_is_wanted():
    text = "-- > 1\n\n-- > [1][2]\n"
    page, said = run(text, "--interpret", "--stop-on-error", name="stop.fl", status=1)
    assert page is None and "stop.fl:3:6: error: Index [2] out of bounds" in said, said
    assert run(text, "--interpret", name="stop.fl", status=1)[0] is not None


def a_program_with_mistakes_has_no_page():
    page, said = run("def a = b\n\n-- > 1\n", name="wrong.fl", status=1)
    assert page is None and "wrong.fl:1:9: error:" in said, said
    assert "expected one file name" in run("", "x.fl", "y.fl", name="z.fl", status=1)[1]


def an_output_has_its_pictures_beside_it():
    (folder / "sub").mkdir()
    run("-- > :img [[true]]\n", "--interpret", "-o", "sub/other.text", name="o.fl")
    assert "(<other-img/1.png>)" in (folder / "sub" / "other.text").read_text()
    assert (folder / "sub/other-img/1.png").exists() and not (folder / "o-img").exists()


def pages_of_html_hold_all_that_they_show(html):
    text = ("-- # A <b>title</b> & more\n--\n-- Some *text*.\n\ndef x = 1 < 2\n\n-- > (x, \"&<\")\n\n-- > :img [[1f32, 0]]\n\n"
            "-- > :plot2d ([1, 2], [3, 4])\n\n-- > :audio [1u8]\n\n-- > :table [[1, 2]]\n")
    if not html:
        assert "built without" in run(text, "--html", "--interpret", name="h.fl", status=1)[1]
        return
    page, _ = run(text, "--html", "--interpret", name="h.fl")
    Page(folder / "h.html")
    assert "<title>A &lt;b&gt;title&lt;/b&gt; &amp; more</title>" in page and "<em>text</em>" in page, page
    assert '<code class="language-fl">def x = 1 &lt; 2\n</code>' in page and "[38u8, 60u8]" in page, page
    assert "<td align=\"right\">2</td>" in page and "audio/wav;base64," in page, page
    png = base64.b64decode(re.search(r"data:image/png;base64,([^\"]*)", page)[1])
    assert [kind for kind, _ in chunks(png)] == ["IHDR", "IDAT", "IEND"]
    assert b"<svg" in base64.b64decode(re.search(r"data:image/svg\+xml;base64,([^\"]*)", page)[1])
    assert not (folder / "h-img").exists()


def other_programs_draw_and_encode():
    """Where they are installed; where not, the page says so."""
    text = ("-- > :gnuplot {points = (iota 5, iota 5)};\n-- set term png size 300,200\n-- plot points with lines\n\n"
            "-- > :video [[[0f32, 0.5], [1, 0]], [[1f32, 0.5], [0, 0]]];\n-- format: gif\n")
    tools = [bool(shutil.which("gnuplot")), bool(shutil.which("ffmpeg"))]
    page, said = run(text, "--interpret", name="t.fl", status=0 if all(tools) else 1)
    for there, tool, name in zip(tools, ["gnuplot", "ffmpeg"], ["1.png", "2.gif"]):
        if there:
            assert f"t-img/{name}" in page and (folder / "t-img" / name).stat().st_size > 30, page
        else:
            assert f"this needs `{tool}`, which was not found" in said, said


def main():
    global folder, flc
    flc = sys.argv[1]
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        for test in [text_and_code_alternate, quotes_of_markdown_are_no_directives, fences_are_longer_than_what_they_hold,
                     values_of_any_type_are_shown, the_device_computes_the_same, images_have_the_colours_of_their_types,
                     videos_are_animated_pngs, plots_are_drawn_to_scale, tables_have_a_column_for_each_vector, sounds_are_waves, sounds_are_read,
                     bytes_and_files_are_read, mistakes_have_places, nothing_is_written_after_errors_if_that_is_wanted,
                     a_program_with_mistakes_has_no_page, an_output_has_its_pictures_beside_it, other_programs_draw_and_encode]:
            test()
        pages_of_html_hold_all_that_they_show(sys.argv[2] == "html")


if __name__ == "__main__":
    main()
