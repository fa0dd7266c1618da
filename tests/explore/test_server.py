"""Real requests to a server in a thread: what is answered, and what is refused."""

import json
import re
import socket
import struct
from concurrent.futures import ThreadPoolExecutor
from threading import Event
from time import sleep
from urllib.parse import urlsplit

import pytest

from helpers.explored import Client
from helpers.html_pages import Page
from proxcode.explore import CodeExplorer, ExploreServer
from proxcode.explore.server import MAX_BODY

HIDDEN = "root:"
TRAVERSALS = [
    "../etc/passwd",
    "..%2fetc%2fpasswd",
    "..%5c..%5cetc%5cpasswd",
    "../../../../../../etc/passwd",
    "....//....//etc/passwd",
    "/etc/passwd",
    "//etc/passwd",
    "%2fetc%2fpasswd",
    "%252e%252e%252fetc%252fpasswd",
    "..;/etc/passwd",
    "search/../../etc/passwd",
    "page.css",
    "page.js",
    "page.py",
    "./",
    ".",
    "..",
    "%00",
    "search%00.html",
    "file:///etc/passwd",
    "\\..\\..\\etc\\passwd",
    "static/../page.py",
    "search?file=/etc/passwd",
    "codes.npy",
    "search/",
]


def test_the_page_is_one_document_that_nothing_else_may_frame_or_keep(client):
    answer = client.send("GET", client.path)
    assert answer.status == 200
    assert answer.headers["Content-Type"] == "text/html; charset=utf-8"
    assert answer.text.startswith("<!doctype html>")
    assert not re.search(r'(?:src|href)="(?!data:|#|report")', answer.text)
    policy = answer.headers["Content-Security-Policy"]
    assert "default-src 'none'" in policy
    assert "connect-src 'self'" in policy
    assert "frame-ancestors 'none'" in policy
    assert "unsafe" not in policy


@pytest.mark.parametrize("kind", ["page", "answer", "error", "forbidden"])
def test_every_answer_has_the_headers_that_protect_it(client, kind):
    answer = {
        "page": lambda: client.send("GET", client.path),
        "answer": lambda: client.post("search", {"row": 1}),
        "error": lambda: client.post("search", {"row": -1}),
        "forbidden": lambda: client.send("GET", "/"),
    }[kind]()
    headers = answer.headers
    assert headers["X-Content-Type-Options"] == "nosniff"
    assert headers["Referrer-Policy"] == "no-referrer"
    assert headers["Cache-Control"] == "no-store"
    assert headers["Cross-Origin-Resource-Policy"] == "same-origin"
    assert "default-src 'none'" in headers["Content-Security-Policy"]
    assert not [name for name in headers if name.lower().startswith("access-control")]
    assert "Python" not in headers["Server"]


def test_answers_are_those_of_the_explorer(client, explored):
    for request in ({"row": 5, "k": 12}, {"vector": explored[1][9].tolist()}):
        answer = client.post("search", request)
        assert answer.status == 200
        assert answer.headers["Content-Type"] == "application/json; charset=utf-8"
        expected = explored[0].search(request)
        assert {**answer.record, "milliseconds": 0} == {**expected, "milliseconds": 0}
    assert client.post("suggest", {"text": "nine"}).record == explored[0].suggest({"text": "nine"})


def test_an_error_is_one_sentence(client):
    answer = client.post("search", {"vector": "1 2 nan"})
    assert answer.status == 400
    assert answer.record == {"error": "the vector has 3 numbers: expected 64, as the model's samples."}


def test_a_request_without_the_right_token_is_forbidden(client, server):
    token = server.token
    assert len(token) == 32
    wrong = token[:-1] + ("A" if token[-1] != "A" else "B")
    paths = ["/", "/search", "/suggest", "/favicon.ico", f"/{wrong}/", f"/{token[:-1]}/", f"/{token}x/", f"/{token}"]
    paths += [
        f"/x/{token}/",
        f"/{token.swapcase()}/",
        f"/%{ord(token[0]):02x}{token[1:]}/",
        "/%C3%A4/",
        "*",
    ]
    for path in paths:
        answer = client.send("GET", path)
        assert answer.status == 403, path
        assert "token" in answer.record["error"]
        assert token not in answer.text
    body = json.dumps({"row": 0})
    assert client.send("POST", f"/{wrong}/search", body, headers={"Content-Type": "application/json"}).status == 403


def test_two_servers_have_different_tokens(server, explored):
    with ExploreServer(explored[0]) as other:
        assert other.token != server.token
        assert other.server_port != server.server_port


@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:{port}", "127.0.0.1", "localhost:1", "0.0.0.0:{port}", ""]
)
def test_a_foreign_host_is_forbidden(client, server, host):
    named = host.format(port=server.server_port)
    answer = client.send("GET", client.path, raw_headers=[("Host", named)])
    assert answer.status == 403
    assert "Host" in answer.record["error"]


def test_both_names_of_this_machine_are_hosts_and_none_or_two_are_not(client, server):
    port = server.server_port
    for host in (f"127.0.0.1:{port}", f"localhost:{port}"):
        assert client.send("GET", client.path, raw_headers=[("Host", host)]).status == 200
    assert client.send("GET", client.path, raw_headers=[]).status == 403
    twice = [("Host", f"127.0.0.1:{port}"), ("Host", "evil.example")]
    assert client.send("GET", client.path, raw_headers=twice).status == 403


def test_a_page_of_another_origin_cannot_search(client, server):
    kind = {"Content-Type": "application/json"}
    for origin, status in (
        ("http://evil.example", 403),
        ("null", 403),
        (f"http://127.0.0.1:{server.server_port}", 200),
        (f"http://localhost:{server.server_port}", 200),
    ):
        answer = client.send("POST", f"{client.path}search", '{"row": 1}', headers={**kind, "Origin": origin})
        assert answer.status == status


@pytest.mark.parametrize("path", TRAVERSALS)
def test_no_address_leads_to_a_file(client, path):
    for method in ("GET", "POST"):
        answer = client.send(method, client.path + path, headers={"Content-Type": "application/json"})
        assert answer.status in (400, 404), path
        assert set(answer.record) == {"error"}
        assert HIDDEN not in answer.text
    # The same without the token.
    assert client.send("GET", f"/{path}").status in (400, 403)


def test_only_known_methods_are_allowed(client):
    for method in ("POST", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE"):
        answer = client.send(method, client.path)
        assert (answer.status, set(answer.record)) == (405, {"error"}), method
    for method in ("GET", "PUT"):
        assert client.send(method, f"{client.path}search").status == 405
    assert client.send("HEAD", client.path).status == 405
    assert client.send("BREW", client.path).status == 501
    assert set(client.send("BREW", client.path).record) == {"error"}


def test_a_request_must_be_json_of_a_known_and_limited_size(client, server):
    path, kind = f"{client.path}search", {"Content-Type": "application/json"}
    assert (
        client.send("POST", path, "row=1", headers={"Content-Type": "application/x-www-form-urlencoded"}).status == 415
    )
    assert client.send("POST", path, "{}", headers={"Content-Type": "text/plain"}).status == 415
    assert client.send("POST", path, '{"row": 1}').status == 415
    for body in ("{", "", "[" * 100_000, b"\xff\xfe", '{"row": 1}x'):
        answer = client.send("POST", path, body, headers=kind)
        assert (answer.status, answer.record) == (400, {"error": "the request is not valid JSON: send an object."})
    for body in ("[1]", "3", "null", '"row"'):
        answer = client.send("POST", path, body, headers=kind)
        assert (answer.status, "expected an object" in answer.text) == (400, True)
    host = ("Host", f"127.0.0.1:{server.server_port}")
    for length, status in ((str(MAX_BODY + 1), 413), ("9" * 30, 413), ("-1", 411), ("ten", 411), ("²", 411)):
        headers = [host, ("Content-Type", "application/json"), ("Content-Length", length.encode())]
        assert client.send("POST", path, raw_headers=headers).status == status, length
    assert client.send("POST", path, raw_headers=[host, ("Content-Type", "application/json")]).status == 411
    chunked = [host, ("Content-Type", "application/json"), ("Content-Length", "2"), ("Transfer-Encoding", "chunked")]
    assert client.send("POST", path, b"{}", raw_headers=chunked).status == 411


def sent(server, *parts, silence=20):
    """Send bytes over one connection, with a pause after each part; return what is answered until it is silent."""
    with socket.create_connection(("127.0.0.1", server.server_port), timeout=silence) as connection:
        answer = b""
        for part in parts:
            connection.sendall(part.encode())
            if part is not parts[-1]:
                answer += connection.recv(65_536)
        while block := connection.recv(65_536):
            answer += block
        return answer.decode()


def request_of(server, method, name, *headers):
    host = f"Host: 127.0.0.1:{server.server_port}"
    return "\r\n".join([f"{method} /{server.token}/{name} HTTP/1.1", host, *headers, "", ""])


JSON_TYPE = "Content-Type: application/json"


@pytest.mark.parametrize("header", ["Content-Length: {}", "Transfer-Encoding: chunked"])
def test_the_content_of_a_get_is_not_taken_for_another_request(server, header):
    hidden = request_of(server, "POST", "suggest", JSON_TYPE, "Content-Length: 2") + "{}"
    answer = sent(server, request_of(server, "GET", "", header.format(len(hidden))) + hidden)
    assert answer.startswith("HTTP/1.1 400 ")
    assert answer.count("HTTP/1.1") == 1
    assert "a GET here has no content: send none." in answer


def test_two_lengths_are_refused(server):
    lengths = "Content-Length: 2", "Content-Length: 40"
    answer = sent(server, request_of(server, "POST", "suggest", JSON_TYPE, *lengths) + "{}")
    assert answer.startswith("HTTP/1.1 411 ")
    assert answer.count("HTTP/1.1") == 1


def test_a_client_that_waits_before_it_sends_is_answered_at_once(server):
    headers = JSON_TYPE, "Content-Length: 11", "Expect: 100-continue", "Connection: close"
    answer = sent(server, request_of(server, "POST", "search", *headers), '{"row": 12}', silence=5)
    assert answer.startswith("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\n")
    assert '"row": 12' in answer


def test_content_that_does_not_arrive_is_a_timeout(server, monkeypatch):
    monkeypatch.setattr("proxcode.explore.server.Handler.timeout", 0.2)
    answer = sent(server, request_of(server, "POST", "search", JSON_TYPE, "Content-Length: 30") + "{")
    assert answer.startswith("HTTP/1.1 408 ")
    assert "the rest of the request did not arrive: send it again." in answer


def test_a_browser_that_leaves_before_its_answer_is_no_error(server, client, monkeypatch, capfd):
    asked, left = Event(), Event()

    def slow(_):
        asked.set()
        left.wait(20)
        return {"text": "x" * 10_000_000}

    monkeypatch.setitem(server.routes, "search", server.routes["search"]._replace(answer=slow))
    connection = socket.create_connection(("127.0.0.1", server.server_port), timeout=20)
    connection.sendall((request_of(server, "POST", "search", JSON_TYPE, "Content-Length: 2") + "{}").encode())
    assert asked.wait(20)
    # Reset, as by a tab that is closed.
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    connection.close()
    ended = []
    ending = server.shutdown_request
    monkeypatch.setattr(server, "shutdown_request", lambda request: (ending(request), ended.append(request)))
    left.set()
    while not ended:
        sleep(0.01)
    assert capfd.readouterr().err == ""
    assert client.post("suggest", {"text": "nine"}).status == 200


def test_a_server_that_cannot_begin_frees_its_port(explored, monkeypatch):
    sockets = []
    bind = ExploreServer.server_bind
    monkeypatch.setattr(ExploreServer, "server_bind", lambda self: (bind(self), sockets.append(self.socket)))
    monkeypatch.setattr(explored[0], "warm_up", lambda: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        ExploreServer(explored[0])
    assert sockets[0].fileno() == -1


def test_a_request_as_large_as_allowed_is_read(client):
    body = json.dumps({"vector": " " * (MAX_BODY - 20)})
    assert len(body) <= MAX_BODY
    answer = client.send("POST", f"{client.path}search", body, headers={"Content-Type": "application/json"})
    assert (answer.status, "has 0 numbers" in answer.text) == (400, True)


def test_a_large_request_that_is_refused_still_gets_its_answer(client):
    body = b" " * (3 * MAX_BODY)
    answer = client.send("POST", f"{client.path}search", body, headers={"Content-Type": "application/json"})
    assert (answer.status, answer.record["error"]) == (
        413,
        "the request is too large: expected at most 2,097,152 bytes.",
    )
    assert client.send("POST", "/search", body, headers={"Content-Type": "application/json"}).status == 403


def test_what_is_no_http_is_refused_in_one_sentence_and_harms_nobody(client, server):
    for noise in (
        b"\x16\x03\x01\x02\x00\x01\r\n\r\n",
        b"GET /\xff HTTP/9.9\r\n\r\n",
        b"GET " + b"a" * 70_000 + b" HTTP/1.1\r\n\r\n",
    ):
        with socket.create_connection(("127.0.0.1", server.server_port), timeout=20) as connection:
            connection.sendall(noise)
            answer = connection.recv(65_536).decode(errors="replace")
        assert server.token not in answer
        assert "Traceback" not in answer
    assert client.post("search", {"row": 1}).status == 200


def test_one_connection_serves_many_requests_and_ends_after_an_error(server, client):
    import http.client

    connection = http.client.HTTPConnection("127.0.0.1", server.server_port, timeout=20)
    for row in (1, 2):
        connection.request(
            "POST", f"{client.path}search", json.dumps({"row": row}), {"Content-Type": "application/json"}
        )
        response = connection.getresponse()
        assert json.loads(response.read())["query"]["row"] == row
        assert response.getheader("Connection") is None
    connection.request("GET", "/")
    response = connection.getresponse()
    response.read()
    assert response.getheader("Connection") == "close"
    connection.close()


def test_requests_at_the_same_time_get_their_own_answers(client, explored):
    def ask(row):
        return client.post("search", {"row": row, "k": 3}).record

    with ThreadPoolExecutor(16) as pool:
        answers = list(pool.map(ask, range(120)))
    for row, answer in enumerate(answers):
        expected = explored[0].search({"row": row, "k": 3})
        assert {**answer, "milliseconds": 0} == {**expected, "milliseconds": 0}


def test_an_unexpected_error_is_one_sentence_too(client, server, monkeypatch):
    def broken(_):
        raise RuntimeError("odd")

    monkeypatch.setitem(server.routes, "search", server.routes["search"]._replace(answer=broken))
    answer = client.post("search", {"row": 1})
    assert (answer.status, answer.record) == (500, {"error": "unexpected RuntimeError: odd"})


def test_only_this_machine_is_listened_to(server):
    assert server.socket.getsockname()[0] == "127.0.0.1"
    assert urlsplit(server.address).hostname == "127.0.0.1"


def test_a_port_that_is_taken_is_refused_in_one_sentence(server, explored):
    with pytest.raises(ValueError, match=rf"port={server.server_port}: Address already in use; choose another port"):
        ExploreServer(explored[0], server.server_port)
    for port, kind in ((65_536, ValueError), (-1, ValueError), ("80", TypeError)):
        with pytest.raises(kind, match="expected an integer from 0 to 65535"):
            ExploreServer(explored[0], port)


def test_a_stopped_server_frees_its_port(explored):
    server = ExploreServer(explored[0]).start()
    port = server.server_port
    server.stop()
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", port), timeout=5)


def test_a_server_that_was_not_started_can_be_stopped(explored):
    server = ExploreServer(explored[0])
    server.stop()
    assert server.socket.fileno() == -1


def test_the_report_is_that_of_the_vectors_and_is_measured_once(client, server):
    page = client.send("GET", client.path)
    assert 'href="report"' in page.text
    answer = client.send("GET", f"{client.path}report")
    assert answer.status == 200
    assert "Near and far pairs" in answer.text
    assert "300 samples were encoded" in answer.text
    assert "connect-src 'none'" in answer.headers["Content-Security-Policy"]
    assert "frame-ancestors 'none'" in answer.headers["Content-Security-Policy"]
    assert "<script>alert" not in answer.text
    assert client.send("GET", f"{client.path}report").text == answer.text


def test_the_report_of_shorter_codes_is_that_of_their_length(explored):
    explorer, X, y, _ = explored
    short = CodeExplorer(explorer.model, explorer.model.encode(X, 9), n_bits=9, vectors=X, labels=y)
    with ExploreServer(short) as server:
        client = Client(server)
        page = Page(client.send("GET", f"{client.path}report").text)
    rows = page.tables["Measures of all pairs, by method and code length"][1:]
    assert {row[1] for row in rows} == {"8", "9"}
    assert "write_report('report.html', model, vectors, labels, lengths=[8, 9])" in page.words
    assert f"Pairs up to the learned radius {short.radius} are called near" in page.words
    assert "are those of codes of at most 9 bits; float queries and all other sections are those of all 20 bits" in (
        page.words
    )


def test_without_vectors_there_is_no_report(explored):
    explorer = explored[0]
    with ExploreServer(CodeExplorer(explorer.model, explorer.codes)) as server:
        other = Client(server)
        assert "report" not in server.routes
        assert 'href="report"' not in other.send("GET", other.path).text
        assert other.send("GET", f"{other.path}report").status == 404
