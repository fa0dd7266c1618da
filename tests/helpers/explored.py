"""A model of digits, codes and items to explore, and requests to a server of them."""

import http.client
import json
from typing import NamedTuple
from urllib.parse import urlsplit

from proxcode import ProximityPreservingCode
from proxcode.explore import CodeExplorer, Items
from proxcode.storage.texts import Texts

WORDS = ["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine"]
HOSTILE = '<script>alert("owned")</script><img src=x onerror=alert(1)>'


class Answer(NamedTuple):
    status: int
    headers: dict
    text: str

    @property
    def record(self):
        return json.loads(self.text)


class Client:
    """Sends requests as they are given, without the corrections that a browser makes."""

    def __init__(self, server):
        self.server = server
        self.path = urlsplit(server.address).path

    def send(self, method, path, body=None, *, headers=None, raw_headers=None):
        connection = http.client.HTTPConnection("127.0.0.1", self.server.server_port, timeout=120)
        try:
            if raw_headers is None:
                connection.request(method, path, body, headers or {})
            else:
                connection.putrequest(method, path, skip_host=True, skip_accept_encoding=True)
                for name, value in raw_headers:
                    connection.putheader(name, value)
                connection.endheaders(body)
            response = connection.getresponse()
            return Answer(response.status, dict(response.getheaders()), response.read().decode())
        finally:
            connection.close()

    def post(self, name, record):
        return self.send("POST", self.path + name, json.dumps(record), headers={"Content-Type": "application/json"})


class Explored(NamedTuple):
    explorer: CodeExplorer
    X: object
    y: object
    titles: list


def make_explorer(X, y):
    """An explorer of images, whose item 7 has a title that is markup."""
    model = ProximityPreservingCode(20, random_state=0).fit(X, y)
    titles = [f"A handwritten {WORDS[label]}, number {row}" for row, label in enumerate(y)]
    titles[7] = HOSTILE
    pages = [str(row // 10) for row in range(len(X))]
    items = Items({"page": Texts.of(pages), "title": Texts.of(titles)})
    explorer = CodeExplorer(model, model.encode(X), items=items, labels=y, vectors=X, image_shape="8x8")
    return Explored(explorer, X, y, titles)
