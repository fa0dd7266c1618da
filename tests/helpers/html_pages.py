"""HTML read by Python's own parser: whether elements are nested, and what they hold."""

from html.parser import HTMLParser

VOID = {"br", "img", "input", "meta"}


class Page(HTMLParser):
    """A document, read once.

    Attributes: `elements`, (name, attributes) in order; `tables`, rows of texts by the caption of each table; `words`,
    all text outside scripts and styles; `data`, the texts of scripts by id.
    """

    def __init__(self, document):
        super().__init__(convert_charrefs=True)
        self.elements, self.tables, self.data, self.words = [], {}, {}, ""
        self._open, self._rows, self._caption = [], [], ""
        self.feed(document)
        self.close()
        assert self._open == []

    def handle_starttag(self, name, attributes):
        attributes = dict(attributes)
        self.elements.append((name, attributes))
        if name not in VOID:
            self._open.append((name, attributes))
        if name == "table":
            self._rows, self._caption = [], ""
        elif name == "tr":
            self._rows.append([])
        elif name in ("td", "th"):
            self._rows[-1].append("")

    def handle_endtag(self, name):
        assert self._open, f"</{name}> closes nothing"
        opened, _ = self._open.pop()
        assert opened == name, f"</{name}> closes <{opened}>"
        if name == "table":
            self.tables[self._caption] = self._rows

    def handle_data(self, text):
        names = [name for name, _ in self._open]
        if "script" in names or "style" in names:
            self.data[self._open[-1][1].get("id", names[-1])] = text
            return
        self.words += text
        if "caption" in names:
            self._caption += text
        elif "td" in names or "th" in names:
            self._rows[-1][-1] += text

    def all(self, name):
        """The attributes of all elements of a name."""
        return [attributes for found, attributes in self.elements if found == name]
