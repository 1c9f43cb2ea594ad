"""Pages as a browser reads them: nested rightly, with references that lead somewhere."""

import re
from html.parser import HTMLParser

VOID = {"meta", "link", "input", "br", "path", "circle", "rect", "use", "polygon", "polyline"}


class Reader(HTMLParser):
    """Checks nesting, and collects ids, references and the text that people read."""

    def __init__(self):
        super().__init__()
        self.open, self.ids, self.needs, self.tags, self.texts = [], [], [], [], []

    def handle_starttag(self, tag, attributes):
        named = dict(attributes)
        assert len(named) == len(attributes), f"{tag} repeats an attribute"
        self.tags.append((tag, named))
        if "id" in named:
            self.ids.append(named["id"])
        for name in ("aria-labelledby", "data-demo"):
            self.needs += named.get(name, "").split()
        if named.get("href", "").startswith("#"):
            self.needs.append(named["href"][1:])
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        self.handle_starttag(tag, attributes)
        if tag not in VOID:
            self.open.pop()

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, text):
        if self.open and self.open[-1] not in ("style", "script"):
            self.texts.append(text)


def read(page: str) -> Reader:
    """A page that holds together: nested rightly, ids once, references that lead somewhere."""
    reader = Reader()
    reader.feed(page)
    reader.close()
    assert not reader.open
    assert len(set(reader.ids)) == len(reader.ids)
    assert set(reader.needs) <= set(reader.ids)
    for tag, attributes in reader.tags:
        if tag == "svg":
            assert attributes.get("aria-hidden") == "true" or attributes["role"] == "img"
        if tag == "button":
            assert attributes["type"] == "button"
        assert not any(name.startswith("on") for name in attributes)
    assert not re.search(r"https?://|//\w|@import|url\((?!#)", page), "nothing is loaded"
    return reader


def read_fragment(fragment: str) -> None:
    frame = Reader()
    frame.feed(fragment)
    [(tag, attributes)] = frame.tags
    assert tag == "iframe"
    read(attributes["srcdoc"])
