"""A page of HTML as the tests see it: well-formed, complete in itself, its text and its tables."""
import html.parser
import pathlib

VOID = {"area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "track", "wbr"}
INLINE = {"a", "b", "code", "i", "small", "span", "br", "button", "summary"}


class Page(html.parser.HTMLParser):
    """Raises an AssertionError where elements are not nested as they should be."""

    def __init__(self, path):
        super().__init__(convert_charrefs=True)
        self.path, self.open, self.ids, self.links, self.tags = path, [], set(), [], set()
        self.pieces, self.rows, self.scripts = [], [], {}
        text = pathlib.Path(path).read_text(encoding="utf-8")
        assert text.startswith("<!DOCTYPE html>"), path
        self.feed(text)
        self.close()
        assert not self.open, f"{path}: not closed: {self.open}"
        self.text = " ".join("".join(self.pieces).split())

    def where(self):
        return f"{self.path}:{self.getpos()[0]}"

    def handle_starttag(self, tag, attrs):
        self.tags.add(tag)
        names = [name for name, _ in attrs]
        assert len(names) == len(set(names)), f"{self.where()}: an attribute twice in <{tag}>"
        attrs = dict(attrs)
        assert not any(name.startswith("on") for name in attrs), f"{self.where()}: code in an attribute"
        if "id" in attrs:
            assert attrs["id"] not in self.ids, f"{self.where()}: id {attrs['id']} twice"
            self.ids.add(attrs["id"])
        self.links += [attrs[name] for name in ("href", "src") if name in attrs]
        if tag == "tr":
            self.rows.append([])
        elif tag in ("td", "th") and self.rows:
            self.rows[-1].append("")
        if tag not in INLINE:
            self.pieces.append(" ")
        if tag not in VOID:
            self.open.append((tag, attrs))

    def handle_endtag(self, tag):
        assert self.open and self.open[-1][0] == tag, f"{self.where()}: </{tag}> in {[t for t, _ in self.open]}"
        self.open.pop()

    def handle_data(self, data):
        inside = self.open[-1] if self.open else ("", {})
        if inside[0] == "style":
            return
        if inside[0] == "script":
            self.scripts[inside[1].get("type", "")] = self.scripts.get(inside[1].get("type", ""), "") + data
            return
        self.pieces.append(data)
        if any(tag in ("td", "th") for tag, _ in self.open):
            self.rows[-1][-1] += data

    def check_links(self, alone=True):
        """Links lead to places that are there, and (if `alone`) to nothing outside of the page."""
        for link in self.links:
            path, _, place = link.partition("#")
            assert "://" not in link, f"{self.path}: {link} leads to another machine"
            if not path:
                assert place in self.ids, f"{self.path}: no place {link}"
                continue
            assert not alone, f"{self.path}: {link} is another file"
            target = pathlib.Path(self.path).parent / path
            assert target.exists(), f"{self.path}: no file {link}"
