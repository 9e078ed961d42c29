#!/usr/bin/env python3
"""The language server, asked by a client: lsp.py FLC.  No device is needed."""
import json
import subprocess
import sys
import tempfile
from pathlib import Path

FLC = sys.argv[1]
TIME_LIMIT_S = 60


class Client:
    def __init__(self):
        self.server = subprocess.Popen([FLC, "lsp"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.last_id = 0
        self.version = 0  # of the text that was sent last
        self.messages = {}  # of each document: the version and the diagnostics that came last

    def send(self, **message):
        text = json.dumps({"jsonrpc": "2.0", **message}).encode()
        self.server.stdin.write(b"Content-Length: %d\r\n\r\n%s" % (len(text), text))
        self.server.stdin.flush()

    def receive(self):
        length = None
        while (line := self.server.stdout.readline().strip()):
            name, _, value = line.partition(b":")
            length = int(value) if name == b"Content-Length" else length
        assert length is not None, "the server is gone"
        message = json.loads(self.server.stdout.read(length))
        assert message["jsonrpc"] == "2.0"
        if message.get("method") == "textDocument/publishDiagnostics":
            params = message["params"]
            self.messages[params["uri"]] = (params["version"], params["diagnostics"])
        return message

    def notify(self, method, **params):
        self.send(method=method, params=params)

    def request(self, method, **params):
        """The whole response."""
        self.last_id += 1
        self.send(id=self.last_id, method=method, params=params)
        while (message := self.receive()).get("id") != self.last_id:
            pass
        return message

    def ask(self, method, **params):
        response = self.request(method, **params)
        assert "error" not in response, response
        return response["result"]

    def open(self, uri, text):
        self.version += 1
        self.notify("textDocument/didOpen",
                    textDocument={"uri": uri, "languageId": "fl", "version": self.version, "text": text})
        return self.wait_for_messages(uri)

    def set_text(self, uri, text):
        self.version += 1
        self.notify("textDocument/didChange", textDocument={"uri": uri, "version": self.version},
                    contentChanges=[{"text": text}])

    def change(self, uri, text):
        self.set_text(uri, text)
        return self.wait_for_messages(uri)

    def wait_for_messages(self, uri):
        """Those about the newest version."""
        while self.messages.get(uri, (0, []))[0] != self.version:
            self.receive()
        return self.messages[uri][1]

    def about(self, method, document, word, nth=0, offset=0, **params):
        """Asks about the nth occurrence of a word."""
        return self.ask(method, textDocument={"uri": document.uri}, position=document.place(word, nth, offset), **params)


class Document:
    def __init__(self, client, path, text):
        self.uri, self.text, self.client = path.as_uri(), text, client
        self.messages = client.open(self.uri, text)

    def place(self, word, nth=0, offset=0):
        at = -1
        for _ in range(nth + 1):
            at = self.text.index(word, at + 1)
        return self.position(at + offset)

    def position(self, at):
        before = self.text[:at]
        line = before[before.rfind("\n") + 1:]
        return {"line": before.count("\n"), "character": len(line.encode("utf-16-le")) // 2}

    def index(self, position):
        lines = self.text.split("\n")
        start = sum(len(line) + 1 for line in lines[:position["line"]])
        units = lines[position["line"]].encode("utf-16-le")[:2 * position["character"]]
        return start + len(units.decode("utf-16-le"))

    def word(self, span):
        return self.text[self.index(span["start"]):self.index(span["end"])]

    def edited(self, edits):
        text = self.text
        for edit in sorted(edits, key=lambda e: self.index(e["range"]["start"]), reverse=True):
            text = text[:self.index(edit["range"]["start"])] + edit["newText"] + text[self.index(edit["range"]["end"]):]
        return text


PROGRAM = """\
-- | The sum of the squares, "é𝄞".
def squares [n] (xs: [n]f32) : f32 = f32.sum (map (\\x -> x * x) xs)

type point = {x: f32, y: f32}

module shapes = {
  def unit : f32 = 1
  def twice (a: f32) = a + a
}

entry main [n] (xs: *[n]f32) (p: point) =
  let y = "é𝄞" let total = squares xs + f32.u8 y[0] + f32.i64 n
  let {x, y} = p
  let xs[0] = shapes.twice total + y
  in (xs, {x, total})
"""


def document(client, folder, text=PROGRAM, name="a file.fl"):
    return Document(client, Path(folder) / name, text)


def reports_mistakes_as_they_come(client, folder):
    d = document(client, folder)
    assert d.messages == [], d.messages
    wrong = PROGRAM.replace("squares xs +", "squares p +")
    (message,) = client.change(d.uri, wrong)
    d.text = wrong
    assert message["severity"] == 1 and message["source"] == "flc"
    assert d.word(message["range"]) == "p", message
    assert "argument 1 of `squares`" in message["message"], message
    (unread,) = client.change(d.uri, PROGRAM.replace("module shapes = {", "module shapes = {{"))
    assert "expected" in unread["message"], unread
    sizes = "entry f [n] [m] (a: [n]i32) (b: [m]i32) = zip a b\n"
    (message,) = client.change(d.uri, sizes)
    d.text = sizes
    origins = [d.word(note["location"]["range"]) for note in message["relatedInformation"]]
    assert sorted(origins) == ["m", "n"], message
    assert "hint: " in message["message"], message
    assert client.change(d.uri, PROGRAM) == []
    (message,) = client.change(d.uri, "entry f (x: i32) = let unused = 1 in x\n")
    assert message["severity"] == 2, message
    client.messages.pop(d.uri)
    client.notify("textDocument/didClose", textDocument={"uri": d.uri})
    assert client.wait_for_messages(d.uri) == []


def tells_types_and_sizes(client, folder):
    d = document(client, folder)

    def hover(word, nth=0, offset=0):
        return client.about("textDocument/hover", d, word, nth, offset)["contents"]["value"]
    assert "xs : [n]f32" in hover("xs)\n"), hover("xs)\n")
    assert "The sum of the squares" in hover("squares", 1) and "f32" in hover("squares", 1)
    assert "total : f32" in hover("total")
    assert "n : i64" in hover("n\n", 0), hover("n\n", 0)
    assert "map : " in hover("map") and "Applies a function" in hover("map"), hover("map")
    assert "f32" in hover("+ y")
    assert client.about("textDocument/hover", d, "type point") is None
    assert "type point = {x: f32, y: f32}" in hover("point) =") and "module shapes = {" in hover("shapes.")
    client.change(d.uri, PROGRAM + "def wrong = nobody\n")
    assert "total : f32" in hover("total")


def finds_definitions(client, folder):
    d = document(client, folder)

    def definition(word, nth=0, offset=0):
        found = client.about("textDocument/definition", d, word, nth, offset)
        return found and (found["uri"], found["range"]["start"])
    assert definition("squares", 1) == (d.uri, d.place("squares [n]"))
    assert definition("total", 1) == (d.uri, d.place("total ="))
    assert definition("twice", 1) == (d.uri, d.place("twice (a"))
    assert definition("n\n") == (d.uri, d.place("n] (xs: *"))
    assert definition("y[0]") == (d.uri, d.place('y = "'))
    assert definition("map") is None, "the library is no file"
    assert definition("point) =") == (d.uri, d.place("point = {"))
    assert definition("shapes.") == (d.uri, d.place("shapes = {"))
    assert definition("f32") is None
    imported = Path(folder) / "other.fl"
    imported.write_text("def far (x: i32) = x\n", encoding="utf-8")
    e = document(client, folder, 'import "other"\nentry main x = far x\n', "importing.fl")
    assert e.messages == []
    assert client.about("textDocument/definition", e, '"other')["uri"] == imported.as_uri()
    found = client.about("textDocument/definition", e, "far")
    assert found["uri"] == imported.as_uri() and found["range"]["start"] == {"line": 0, "character": 4}, found


def finds_references(client, folder):
    d = document(client, folder)

    def references(word, nth=0):
        found = client.about("textDocument/references", d, word, nth, context={"includeDeclaration": True})
        return [d.index(place["range"]["start"]) for place in found]
    text = d.text
    assert references("squares", 1) == [text.index("squares [n]"), text.index("squares xs")]
    last = text.index("xs: *")
    assert references("xs: *") == [last, text.index("squares xs") + 8, text.index("xs[0]"), text.index("(xs, {") + 1]
    assert references("a + a") == [text.index("a: f32) = a"), text.index("a + a"), text.index("a + a") + 4]
    assert references("type") == []
    kinds = [h["kind"] for h in client.about("textDocument/documentHighlight", d, "total")]
    assert kinds == [3, 2, 2], kinds


TYPES = """\
module type number = {
  type t
  val add : t -> t -> t
}

module sums (N: number) = {
  type pair = (N.t, N.t)
  def both (p: pair) : N.t = N.add p.0 p.1
}

module ints : number with t = i32 = {
  type t = i32
  def add (a: t) (b: t) : t = a + b
}

module deep = { module inner = { type t = bool def yes : t = true } def no : inner.t = !inner.yes }
type t = ints.t
type wrapped 't = {it: t, also: [1]t}
module int_sums = sums ints

def unwrap 't (w: wrapped t) : t = w.it
entry main (x: t) : (t, bool) =
  let y : t = ints.add x (int_sums.both (x, x))
  in (unwrap {it = y, also = [x]}, deep.inner.yes && ints.(let z : i32 = add 1 2 in z > 0))
"""


def refers_to_types_and_modules(client, folder):
    d = document(client, folder, TYPES, "types.fl")
    assert d.messages == [], d.messages
    text = d.text

    def lines(word, nth=0, offset=0):
        found = client.about("textDocument/references", d, word, nth, offset, context={"includeDeclaration": True})
        return [place["range"]["start"]["line"] for place in found]

    def line(part):
        return text[:text.index(part)].count("\n")
    end = line("entry main")
    assert lines("type t\n", 0, 5) == [1, 2, 2, 2, 6, 6, 7, line("with t")], lines("type t\n", 0, 5)
    assert lines("number = {") == [0, line("N: number"), line("ints : number")]
    assert lines("pair = ") == [line("type pair"), line("p: pair")]
    assert lines("ints :") == [line("ints :"), line("type t = ints"), line("sums ints"), end + 1, end + 2]
    assert lines("t = ints.t") == [line("type t = ints.t"), end, end, end + 1]
    body = line("  type t = i32")
    assert lines("t = i32\n") == [body, body + 1, body + 1, body + 1, line("type t = ints.t")]
    assert lines("wrapped 't") == [line("type wrapped"), line("def unwrap")]
    assert lines("inner = {") == [line("module deep")] * 3 + [end + 2], lines("inner = {")
    assert lines("t) : t = w") == [line("def unwrap")] * 3, "a type parameter"
    changes = client.about("textDocument/rename", d, "ints :", newName="whole")["changes"][d.uri]
    assert d.edited(changes) == text.replace("ints :", "whole :").replace("ints.", "whole.").replace("sums ints", "sums whole")
    changes = client.about("textDocument/rename", d, "t = ints.t", newName="int")["changes"][d.uri]
    assert d.edited(changes) == text.replace("type t = ints.t", "type int = ints.t").replace(
        "main (x: t) : (t,", "main (x: int) : (int,").replace("let y : t", "let y : int")
    for word, name in [("type t\n", "u"), ("wrapped 't", "i32 "), ("number = {", "def")]:
        offset = 5 if word.startswith("type") else 0
        response = client.request("textDocument/rename", textDocument={"uri": d.uri}, position=d.place(word, 0, offset),
                                  newName=name)
        assert response["error"]["code"] == -32803, (word, response)
    found = client.about("textDocument/definition", d, "inner.yes &&")
    assert found["range"]["start"] == d.place("inner = {"), found


def refers_to_what_others_make(client, folder):
    other = Path(folder) / "makes.fl"
    other.write_text("module pairs (N: {type t}) = { type pair = (N.t, N.t) }\ntype far = i32\n", encoding="utf-8")
    (Path(folder) / "circle.fl").write_text('import "circle"\ntype round = i32\n', encoding="utf-8")
    text = 'import "makes"\nmodule p = pairs {type t = i32}\nlocal module l = import "makes"\n' \
        "entry first (x: p.pair) : i32 = x.0\nentry second (x: l.far, y: far) : p.pair = (x, y)\n"
    d = document(client, folder, text, "uses.fl")
    assert d.messages == [], d.messages

    def definition(word, nth=0, offset=0):
        found = client.about("textDocument/definition", d, word, nth, offset)
        return found and (found["uri"], found["range"]["start"]["line"], found["range"]["start"]["character"])
    assert definition("p.pair", 0, 2) == (other.as_uri(), 0, 36), definition("p.pair", 0, 2)
    assert definition("far,") == definition("far)") == (other.as_uri(), 1, 5)
    assert definition("pairs {") == (other.as_uri(), 0, 7)
    found = client.about("textDocument/references", d, "pair)", context={"includeDeclaration": False})
    assert [place["range"]["start"]["line"] for place in found] == [3, 4], found
    response = client.request("textDocument/rename", textDocument={"uri": d.uri}, position=d.place("far)"), newName="near")
    changes = response["result"]["changes"]
    assert set(changes) == {d.uri, other.as_uri()}, changes
    assert d.edited(changes[d.uri]) == text.replace("l.far, y: far", "l.near, y: near"), changes
    assert [edit["range"]["start"] for edit in changes[other.as_uri()]] == [{"line": 1, "character": 5}]
    e = document(client, folder, 'import "circle"\nentry main (x: round) = x\n', "round.fl")
    assert len(e.messages) == 1 and "type round = i32" in str(client.about("textDocument/hover", e, "round)"))


def renames(client, folder):
    d = document(client, folder)

    def renamed(word, name, nth=0):
        changes = client.about("textDocument/rename", d, word, nth, newName=name)["changes"]
        return d.edited(changes[d.uri])
    assert renamed("squares", "norm", 1) == PROGRAM.replace("squares [n]", "norm [n]").replace("squares xs", "norm xs")
    assert renamed("total", "t1") == PROGRAM.replace("total}", "total = t1}").replace("let total", "let t1").replace(
        "twice total", "twice t1")
    assert renamed("y} = p", "z") == PROGRAM.replace("y} = p", "y = z} = p").replace("+ y\n", "+ z\n")
    changed = renamed("xs: *", "ys")
    assert "(ys: *[n]f32)" in changed and "let ys[0]" in changed and "in (ys, " in changed and "squares ys" in changed
    assert "def squares [n] (xs: " in changed and client.change(d.uri, changed) == []
    client.change(d.uri, PROGRAM)
    for word, name in [("total", "xs"), ("total", "p"), ("total", "1x"), ("total", "let"), ("map", "apply"), ("type", "t")]:
        response = client.request("textDocument/rename", textDocument={"uri": d.uri}, position=d.place(word), newName=name)
        assert response["error"]["code"] == -32803, (word, name, response)


LIBRARY = "-- what others import\ndef far (x: i32) = x\ndef near (x: i32) = far x + 1\n"


def knows_what_is_open(client, folder):
    """A library that is not written yet, and who imports it."""
    (Path(folder) / "lib.fl").write_text("def far = 1i32\n", encoding="utf-8")
    middle = document(client, folder, 'import "./lib"\ndef twice (x: i32) = far x\n', "middle.fl")
    assert len(middle.messages) == 1, "far is no function on the disk"
    main = document(client, folder, 'def one = 1i32\nmodule m = import "middle"\nentry main x = m.twice x + one\n', "main.fl")
    (message,) = main.messages
    assert main.word(message["range"]) == 'import "middle"', message
    assert "middle.fl:2:" in message["message"] and message["relatedInformation"][0]["location"]["uri"] == middle.uri, message

    def wait_until(document, count):
        while len(client.messages[document.uri][1]) != count:
            client.receive()
        return client.messages[document.uri][1]
    lib = document(client, folder, LIBRARY, "lib.fl")
    assert lib.messages == []
    wait_until(middle, 0)
    wait_until(main, 0)
    client.change(lib.uri, LIBRARY.replace("= x\n", "= (x\n"))
    assert middle.word(wait_until(middle, 1)[0]["range"]) == 'import "./lib"'
    assert main.word(wait_until(main, 1)[0]["range"]) == 'import "middle"'
    client.change(lib.uri, LIBRARY)
    wait_until(main, 0)
    found = client.about("textDocument/definition", middle, "far x")
    assert found["uri"] == lib.uri and found["range"]["start"] == {"line": 1, "character": 4}, found
    client.messages.pop(lib.uri)
    client.notify("textDocument/didClose", textDocument={"uri": lib.uri})
    wait_until(middle, 1)
    new = document(client, folder, 'import "new"\nentry main = made\n', "asks.fl")
    assert "cannot read" in new.messages[0]["message"]
    document(client, folder, "def made = 1i32\n", "new.fl")
    wait_until(new, 0)


def renames_across_files(client, folder):
    written = Path(folder) / "written.fl"
    written.write_text('import "lib"\nentry main (x: i32) = far x\n', encoding="utf-8")
    (Path(folder) / "stranger.fl").write_text("def far = (\n", encoding="utf-8")
    lib = document(client, folder, LIBRARY, "lib.fl")
    user = document(client, folder, 'import "lib"\nentry main (x: i32) = far x + near x\n', "user.fl")

    def renamed(document, word, name, nth=0):
        return client.request("textDocument/rename", textDocument={"uri": document.uri}, position=document.place(word, nth),
                              newName=name)
    for asked, nth in [(lib, 0), (lib, 1), (user, 0)]:
        changes = renamed(asked, "far", "away", nth)["result"]["changes"]
        assert set(changes) == {lib.uri, user.uri, written.as_uri()}, changes
        assert lib.edited(changes[lib.uri]) == LIBRARY.replace("far", "away")
        assert user.edited(changes[user.uri]) == user.text.replace("far", "away")
        assert [(e["newText"], e["range"]["start"]) for e in changes[written.as_uri()]] == [("away", {"line": 1, "character": 22})]
    assert set(renamed(lib, "x: i32", "y")["result"]["changes"]) == {lib.uri}
    found = client.about("textDocument/references", lib, "far", context={"includeDeclaration": False})
    assert sorted(place["uri"] for place in found) == sorted([lib.uri, user.uri, written.as_uri()]), found
    written.write_text('import "lib"\ndef away = 1i32\nentry main (x: i32) = far x + away\n', encoding="utf-8")
    assert "error" not in renamed(user, "far", "away2")
    written.write_text('import "lib"\nentry main (away: i32) = far away\n', encoding="utf-8")
    assert "something else" in renamed(user, "far", "away")["error"]["message"]
    written.write_text('import "lib"\nmodule other = {def away = 1i32}\nopen other\nentry main (x: i32) = x + away\n', encoding="utf-8")
    assert "error" not in renamed(user, "far", "away"), "what hides it hides it before, too"
    written.write_text('module other = {def away = 1i32}\nopen other\nimport "lib"\nentry main (x: i32) = x + away\n', encoding="utf-8")
    assert "something else" in renamed(user, "far", "away")["error"]["message"]
    written.write_text('import "lib"\nentry main (x: i32) = (far x\n', encoding="utf-8")
    assert "error" not in renamed(user, "far", "away"), "it cannot be read, nor be known to import"
    written.write_text('import "lib"\nentry main (x: bool) = far x\n', encoding="utf-8")
    assert renamed(user, "far", "away")["error"]["message"] == "written.fl has errors"


def completes(client, folder):
    d = document(client, folder)
    items = {item["label"]: item for item in client.about("textDocument/completion", d, "total", 1)}
    assert items["squares"]["kind"] == 3 and "f32" in items["squares"]["detail"], items["squares"]
    assert "reduce" in items and "loop" in items and "xs" in items and "twice" in items
    broken = "def helper (x: i32) = x\nentry main (value: i32) = hel"
    client.change(d.uri, broken)
    d.text = broken
    items = {item["label"] for item in client.about("textDocument/completion", d, "hel", 1, 3)}
    assert {"helper", "value", "map", "if"} <= items and "hel" not in items, items

    def members(text):
        client.change(d.uri, text)
        d.text = text
        found = client.ask("textDocument/completion", textDocument={"uri": d.uri}, position=d.position(len(text)))
        return {item["label"]: item.get("detail") for item in found}
    maths = members("entry main (x: f32) = x + f32.sq")
    assert "sqrt" in maths and "pi" in maths and "main" not in maths and "let" not in maths, maths
    assert "sqrt" not in members("entry main (x: i32) = i32.") and "highest" in members("entry main (x: i32) = i32.")
    record = "type pair = {x: f32, deep: {z: i32}} entry main (p: pair) (ps: []pair) = let q = p with x = 1 in "
    assert members(record + "p.") == {"x": "f32", "deep": "{z: i32}"}, members(record + "p.")
    assert members(record + "1 + q.deep.") == {"z": "i32"}, members(record + "1 + q.deep.")
    assert members(record + "ps.") == {}, members(record + "ps.")
    sums = "type t = #alpha i32 | #beta entry main (x: t) = match x case #be"
    assert set(members(sums)) == set(members(sums[:-2])) == {"alpha", "beta"}, members(sums)
    (Path(folder) / "part").mkdir(exist_ok=True)
    (Path(folder) / "part" / "some-sums.fl").write_text("type u = #gamma | #delta\n")
    client.change(d.uri, "import \"part/some-sums\"\n")
    assert set(members("import \"part/some-sums\"\ndef f (x: u) = match x case #ga")) == {"gamma", "delta"}, members(d.text)
    assert "part/" in members("import \"") and "doc" not in members("import \""), members("import \"")
    assert set(members("def a = 1i32\nmodule m = import \"part/so")) == {"some-sums"}, members(d.text)
    assert members("import \"nowhere/so") == {} and "map" in members("def a = \"import \" + ma"), members(d.text)
    found = client.ask("textDocument/completion", textDocument={"uri": d.uri}, position=d.position(len(d.text)),
                       context={"triggerKind": 2, "triggerCharacter": "/"})
    assert found == [], "a division is no path"
    own = "module a = { type t = i32 module b = { def one (x: i32) = x } } entry main (x: i32) = "
    assert set(members(own + "a.")) == {"t", "b"}, members(own + "a.")
    assert members(own + "a.b.o") == {"one": "i32 -> i32"}, members(own + "a.b.o")
    applied = "module s (N: {type t}) = { type pair = (N.t, N.t) module deep = { def two = 2i32 } } "
    applied += "module i = { type t = i32 } module m = s i module again = m entry main (x: i32) = x + "
    assert set(members(applied + "m.")) == {"pair", "deep"}, members(applied + "m.")
    assert set(members(applied + "again.deep.")) == {"two"}
    (Path(folder) / "lib.fl").write_text("module inner = { def half (x: i32) = x / 2 }\ntype t = i32\ndef far (x: t) = x\n", encoding="utf-8")
    imports = 'import "lib" module l = import "lib" entry main (x: i32) = x + '
    assert set(members(imports + "l.")) == {"inner", "t", "far"}, members(imports + "l.")
    assert set(members(imports + "inner.")) == set(members(imports + "l.inner.")) == {"half"}
    assert {"far", "inner", "l", "map"} <= set(members(imports))
    circle = "module a = b module b = a open b entry main (x: i32) = x + a."
    assert members(circle) == {}
    assert members(own + "nobody.") == {} and members(own + "x.a.") == {}
    half = members("def helper (x: i32) = x\nentry main (value: i32) =\n  let inner = value + 1\n  in helper ")
    assert half["inner"] == "i32" and half["value"] == "i32" and "reduce" in half, half


def lists_symbols(client, folder):
    d = document(client, folder)
    symbols = client.ask("textDocument/documentSymbol", textDocument={"uri": d.uri})
    assert [s["name"] for s in symbols] == ["squares", "point", "shapes", "main"], symbols
    assert [s["name"] for s in symbols[2]["children"]] == ["unit", "twice"]
    assert [d.word(s["selectionRange"]) for s in symbols] == [s["name"] for s in symbols]
    assert d.word(symbols[1]["range"]).startswith("type point")


def finds_symbols_of_all_files(client, folder):
    d = document(client, folder)
    (Path(folder) / "inner").mkdir()
    (Path(folder) / "inner" / "other.fl").write_text("def twicefold (x: i32) = x\ndef thrice = 3\n")
    found = client.ask("workspace/symbol", query="TWICE")
    assert [(s["name"], s.get("containerName")) for s in found] == [("twice", "shapes")], found
    assert d.word(found[0]["location"]["range"]) == "twice" and found[0]["location"]["uri"] == d.uri
    # With the folder that the editor has opened.
    other = Client()
    other.ask("initialize", processId=None, rootUri=Path(folder).as_uri(), capabilities={})
    found = other.ask("workspace/symbol", query="twice")
    assert [s["name"] for s in found] == ["twicefold"], found  # the document is not on the disk
    other.ask("shutdown")
    other.notify("exit")
    other.server.wait(TIME_LIMIT_S)


def tells_parameters(client, folder):
    (Path(folder) / "lib.fl").write_text("-- | From a file.\ndef imported (first: i32) second = first + second\n")
    d = document(client, folder, "import \"lib\"\n")

    def help_at(text):
        client.change(d.uri, "import \"lib\"\n" + text)
        d.text = "import \"lib\"\n" + text
        told = client.ask("textDocument/signatureHelp", textDocument={"uri": d.uri}, position=d.position(len(d.text)))
        if told is None:
            return None
        signature = told["signatures"][0]
        start, end = signature["parameters"][told["activeParameter"]]["label"]
        return signature["label"], signature["label"][start:end]

    head = "def sum2 [n] 'a (xs: [n]a)  -- what\n  {x = y: i32, z: i32} (f: a -> i32): i32 = 0\n"
    label = "sum2 [n] 'a (xs: [n]a) {x = y: i32, z: i32} (f: a -> i32): i32"
    assert help_at(head + "entry main = sum2 ") == (label, "(xs: [n]a)")
    assert help_at(head + "entry main = sum2 (map (+ 1) a)[1:] r.q.z ") == (label, "(f: a -> i32)")
    assert help_at(head + "entry main = 1 + sum2 xs {x = 1, z") == (label, "{x = y: i32, z: i32}")
    assert help_at(head + "entry main = sum2 a b c ") is None
    assert help_at(head + "def g x = sum2 x in let sum2 (q: bool) = q in sum2 ") == ("sum2 (q: bool)", "(q: bool)")
    assert help_at("entry main = imported 1 (imported 2 ")[1] == "second"
    assert help_at("entry main = f32.max 1 ")[1] == help_at("entry main = map (f32.max 1 ")[1]
    reduce = help_at("entry main (xs: []i32) = reduce (+) ")
    assert reduce and reduce[0].startswith("reduce ") and help_at("entry main = reduce (\\x y -> x") == (reduce[0], help_at("entry main = reduce ")[1])
    assert help_at("def main (x: i32) ") is None and help_at("entry main = 1 + ") is None and help_at(")) ") is None


def formats(client, folder):
    d = document(client, folder, "def  é = 1\n".replace("é", "e") + "-- é𝄞\nentry f(x:i32)=x")
    edits = client.ask("textDocument/formatting", textDocument={"uri": d.uri}, options={"tabSize": 2, "insertSpaces": True})
    assert d.edited(edits) == "def e = 1\n-- é𝄞\nentry f (x: i32) = x\n", edits
    client.change(d.uri, "def e =")
    assert client.ask("textDocument/formatting", textDocument={"uri": d.uri}, options={}) == []


HINTED = """\
def h [n] (xs: [n]f32) (k: i64) : i64 =
  let ys = filter (> 0) xs
  let (a, _b) = unzip (map (\\x -> (x, i64.f32 x)) ys)
  let zs = copy xs let zs[0] = 1
  let sq v = v * v
  let w : i64 = n
  in loop acc = w + i64.f32 (zs[0] + f32.sum a) for i < k do acc + sq i
def v = [1, 2]
"""


def tells_types_that_are_not_written(client, folder):
    d = document(client, folder, HINTED)

    def hints(first, last):
        span = {"start": d.position(first), "end": d.position(last)}
        found = client.ask("textDocument/inlayHint", textDocument={"uri": d.uri}, range=span)
        return [(d.text[:d.index(hint["position"])].split()[-1].strip("(\\"), hint["label"]) for hint in found]

    assert hints(0, len(HINTED)) == [
        ("ys", ": [?1]f32"), ("a", ": [?1]f32"), ("x", ": f32"), ("zs", ": [n]f32"), ("v", ": i64"),
        ("acc", ": i64"), ("i", ": i64"), ("v", ": [2]i32")], hints(0, len(HINTED))
    assert hints(0, HINTED.index("let (a")) == [("ys", ": [?1]f32")]
    client.change(d.uri, "def x = (")
    assert hints(0, 5) == []


MISTAKEN = """\
def a (xs: []f32) = lenght xs
def b (x: i32) : f32 = x * 2
def c (x: float) = f32.sqroot 2
def d (x: i32) = if x > 0 and x < 2 then 1 else 2
def e (xs: []i32) = f32.sum (map (+ 1) xs)
def f (x: i32) = let y = 1 in 'é' :> f32
def g (x: i32) (y: f32) = x + y
"""


def proposes_edits(client, folder):
    d = document(client, folder, MISTAKEN)
    actions = client.ask("textDocument/codeAction", textDocument={"uri": d.uri},
                         range={"start": d.position(0), "end": d.position(9)}, context={"diagnostics": d.messages})
    assert all(action["kind"] == "quickfix" and len(action["diagnostics"]) == 1 for action in actions), actions
    made = [(d.word(edit["range"]), edit["newText"]) for action in actions for edit in action["edit"]["changes"][d.uri]]
    assert made == [
        ("lenght", "length"), ("x * 2", "(f32.i32 (x * 2))"), ("float", "f32"), ("f32.sqroot", "f32.sqrt"), ("and", "&&"),
        ("map (+ 1) xs", "(map f32.i32 (map (+ 1) xs))"), ("y", "_y"), ("y", "(i32.f32 y)")], made
    assert actions[0]["title"] == "Change to length" and actions[1]["title"] == "Convert by f32.i32", actions
    none = client.ask("textDocument/codeAction", textDocument={"uri": d.uri}, range={}, context={"diagnostics": []})
    assert none == client.ask("textDocument/codeAction", textDocument={"uri": d.uri}) == []


def takes_changes_of_ranges(client, folder):
    d = document(client, folder, "-- é𝄞\r\ndef a = \"é𝄞\" ++ lenght\ndef b = 1\n")

    def replace(word, text):
        start = d.text.index(word)
        span = {"start": d.position(start), "end": d.position(start + len(word))}
        d.text = d.text.replace(word, text, 1)
        return {"range": span, "text": text}

    client.version += 1
    changes = [replace("lenght", "\"x𝄞\""), replace("𝄞\"", "\""), replace("-- é", "def 𝄞 = -- é\n--"), replace("𝄞", "c"),
               replace("-- é", "2 -- "), replace("\n", "\n\n")]
    client.notify("textDocument/didChange", textDocument={"uri": d.uri, "version": client.version}, contentChanges=changes)
    assert client.wait_for_messages(d.uri) == []
    assert client.about("textDocument/hover", d, "a =")["contents"]["value"].startswith("```fl\na : *[7]u8"), d.text
    for start, end in [(5, 2), (0, 10**6), (-3, -2)]:
        span = {"start": {"line": start, "character": 0}, "end": {"line": end, "character": 7}}
        client.version += 1
        client.notify("textDocument/didChange", textDocument={"uri": d.uri, "version": client.version},
                      contentChanges=[{"range": span, "text": "def z = 1"}, {}])
        client.wait_for_messages(d.uri)
    assert client.change(d.uri, PROGRAM) == []


def counts_columns_as_agreed(_, folder):
    client = Client()
    encodings = {"general": {"positionEncodings": ["utf-8", "utf-16"]}}
    assert client.request("textDocument/hover")["error"]["code"] == -32002
    assert client.ask("initialize", capabilities=encodings)["capabilities"]["positionEncoding"] == "utf-8"
    assert client.request("initialize")["error"]["code"] == -32600
    line = 'def x = "é𝄞" ++ y'
    messages = client.open((Path(folder) / "u.fl").as_uri(), line)
    assert messages[0]["range"]["start"]["character"] == len(line.encode()) - 1, messages
    client.ask("shutdown")
    assert client.request("textDocument/hover")["error"]["code"] == -32600
    client.notify("exit")
    assert client.server.wait(TIME_LIMIT_S) == 0


def looks_again_at_files_that_changed(client, folder):
    other = Path(folder) / "other.fl"
    other.write_text("def one = 1i32\n", encoding="utf-8")
    d = document(client, folder, 'import "other"\ndef two = one + 1i32\n', "user.fl")
    assert d.messages == []
    other.write_text("def one = 1i64\n", encoding="utf-8")
    client.messages.clear()
    client.notify("workspace/didChangeWatchedFiles", changes=[{"uri": other.as_uri(), "type": 2}])
    assert "has type `i32`, expected `i64`" in client.wait_for_messages(d.uri)[0]["message"]


def survives(client, folder):
    d = document(client, folder)
    assert client.request("no/such/method")["error"]["code"] == -32601
    client.notify("$/nothing")
    client.server.stdin.write(b"Content-Length: 3\r\n\r\n{,}Content-Length: 2\r\nContent-Type: x\r\n\r\n[]")
    nowhere = {"line": 1000, "character": 1000}
    for position in [nowhere, {"line": 0, "character": 1000}, {"line": -1, "character": -5}, {}]:
        for method in ["hover", "definition", "references", "completion"]:
            client.ask(f"textDocument/{method}", textDocument={"uri": d.uri}, position=position)
    response = client.request("textDocument/hover", textDocument={"uri": "file:///none.fl"}, position=nowhere)
    assert "error" in response
    for text in ["", "\n", "def", "(" * 5000, "entry main = ???", "\"", "def x = 'é", "\ufeffdef x = 1"]:
        client.change(d.uri, text)
        for method in ["hover", "documentSymbol", "formatting", "rename"]:
            client.request(f"textDocument/{method}", textDocument={"uri": d.uri}, position={"line": 0, "character": 5},
                           newName="x")
    for end in range(0, len(PROGRAM), 7):
        client.set_text(d.uri, PROGRAM[:end])
        client.ask("textDocument/hover", textDocument={"uri": d.uri}, position=nowhere)
    assert client.change(d.uri, PROGRAM) == []


TESTS = [reports_mistakes_as_they_come, tells_types_and_sizes, finds_definitions, finds_references, refers_to_types_and_modules, refers_to_what_others_make, knows_what_is_open, renames, renames_across_files,
         completes,
         lists_symbols, finds_symbols_of_all_files, tells_parameters, formats, tells_types_that_are_not_written, proposes_edits, takes_changes_of_ranges, counts_columns_as_agreed,
         looks_again_at_files_that_changed, survives]


def main():
    failed = 0
    for test in TESTS:
        client = Client()
        with tempfile.TemporaryDirectory() as folder:
            try:
                able = client.ask("initialize", processId=None, rootUri=None, capabilities={})["capabilities"]
                assert able["renameProvider"] and able["hoverProvider"] and able["positionEncoding"] == "utf-16"
                client.notify("initialized")
                test(client, folder)
                assert client.ask("shutdown") is None
                client.notify("exit")
                assert client.server.wait(TIME_LIMIT_S) == 0
                print(f"ok    {test.__name__}")
            except Exception as problem:  # the others shall run, too
                failed += 1
                print(f"FAIL  {test.__name__}: {type(problem).__name__} {problem}")
                client.server.kill()
    sys.exit(1 if failed else 0)


main()
