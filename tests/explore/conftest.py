"""A model of digits, codes, items and a server, and requests to it."""

import http.client
import json
from typing import NamedTuple
from urllib.parse import urlsplit

import pytest

from proxcode import ProximityPreservingCode
from proxcode.explore import CodeExplorer, ExploreServer, Items
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
        connection = http.client.HTTPConnection("127.0.0.1", self.server.server_port, timeout=20)
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


@pytest.fixture(scope="session")
def explored(train):
    """A model and its codes, with an item whose text is markup, and images."""
    X, y = train[0][:300], train[1][:300]
    model = ProximityPreservingCode(20, random_state=0).fit(X, y)
    titles = [f"A handwritten {WORDS[label]}, number {row}" for row, label in enumerate(y)]
    titles[7] = HOSTILE
    items = Items({"page": Texts.of([str(row // 10) for row in range(300)]), "title": Texts.of(titles)})
    explorer = CodeExplorer(model, model.encode(X), items=items, labels=y, vectors=X, image_shape="8x8")
    return explorer, X, y, titles


@pytest.fixture(scope="session")
def server(explored):
    with ExploreServer(explored[0]) as server:
        yield server


@pytest.fixture(scope="session")
def client(server):
    return Client(server)
