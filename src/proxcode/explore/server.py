"""ExploreServer: a page and its searches, for one person on this machine.

What a request must pass, in this order:

1. the Host header is that of this server, so that a foreign name that resolves to 127.0.0.1 gets nothing,
2. the address has the token, which is random for each server and compared in constant time,
3. the rest of the address is one of a few known names: there is no way from an address to a file,
4. the method is that of the name; a POST is JSON of a limited size, and not sent by a page of another origin,
5. the length of the request is unambiguous: bytes that were not read would be taken for the next request.

Answers are pages or JSON; an error is an object with one sentence, "error".
"""

import json
import secrets
import socket
import socketserver
import sys
from collections.abc import Callable
from contextlib import suppress
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any, NamedTuple, Self

from proxcode.explore.explorer import CodeExplorer
from proxcode.explore.live_report import LiveReport
from proxcode.explore.page import Page, render_page
from proxcode.utils.validation import check_integer

HOST = "127.0.0.1"
# Bytes of the largest request: a vector of 100,000 numbers.
MAX_BODY = 2**21
# Seconds that a connection may be silent.
TIMEOUT = 30
# After an error: seconds to wait for the rest of a request, the number of blocks that are received, and their bytes.
LINGER, LINGER_BLOCKS, LINGER_BYTES = 1.0, 256, 2**16
TOKEN_BYTES = 24
JSON = "application/json; charset=utf-8"
HEADERS = {
    "Cache-Control": "no-store",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
}
NOTHING_ALLOWED = "default-src 'none'; frame-ancestors 'none'"


class RefusedError(Exception):
    """A request that is not answered: the status, and a sentence."""

    def __init__(self, status: HTTPStatus, sentence: str) -> None:
        super().__init__(sentence)
        self.status = status


class Route(NamedTuple):
    """A known name: its method, and the function of the request that gives the answer."""

    method: str
    answer: Callable[[Any], Page | dict[str, Any]]


class ExploreServer(ThreadingHTTPServer):
    """Serve a `CodeExplorer` on 127.0.0.1, to whoever has the address.

    Parameters
    ----------
    explorer : CodeExplorer
    port : int, default=0
        0 is any free port.
    command : str, default=None
        How to write the report to a file, shown in the report. None: a call of Python.

    Attributes
    ----------
    address : str
        Address of the page, with the token.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from proxcode import ProximityPreservingCode
    >>> X, y = load_digits(return_X_y=True)
    >>> model = ProximityPreservingCode(n_bits=16, random_state=0).fit(X[:300], y[:300])
    >>> with ExploreServer(CodeExplorer(model, model.codes_)) as server:
    ...     print(server.address)  # doctest: +ELLIPSIS
    http://127.0.0.1:.../.../
    """

    # A request that is still being answered does not delay the end.
    daemon_threads = True
    # Connections that wait to be accepted.
    request_queue_size = 128

    def __init__(self, explorer: CodeExplorer, port: int = 0, *, command: str | None = None) -> None:
        check_integer("port", port, 0, 65_535)
        self._is_begun = False
        try:
            super().__init__((HOST, port), Handler)
        except OSError as error:
            raise ValueError(f"port={port}: {error.strerror}; choose another port, or 0 for any free one.") from error
        self.token = secrets.token_urlsafe(TOKEN_BYTES)
        try:
            self.routes = _routes(explorer, command)
        except BaseException:
            self.server_close()
            raise

    def server_bind(self) -> None:
        """Bind the socket, without the name of this machine, which might be asked for over a network."""
        socketserver.TCPServer.server_bind(self)
        self.server_name, self.server_port = HOST, self.server_address[1]

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say nothing of a browser that left before its answer was complete; print the traceback of any other error."""
        if not isinstance(sys.exception(), OSError):
            super().handle_error(request, client_address)

    @property
    def hosts(self) -> tuple[str, str]:
        """Values of the Host header by which a browser on this machine reaches the server."""
        return f"{HOST}:{self.server_port}", f"localhost:{self.server_port}"

    @property
    def address(self) -> str:
        """Address of the page, with the token."""
        return f"http://{self.hosts[0]}/{self.token}/"

    def start(self) -> Self:
        """Serve in a thread of its own, until `stop`."""
        self._is_begun = True
        Thread(target=self.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()
        return self

    def serve_forever(self, poll_interval: float = 0.5) -> None:
        """Serve until `stop`, called from another thread."""
        self._is_begun = True
        super().serve_forever(poll_interval)

    def stop(self) -> None:
        """End a server, whether it was started or not, and free its port."""
        if self._is_begun:
            self.shutdown()
        self.server_close()

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, *error: object) -> None:
        self.stop()


def _routes(explorer: CodeExplorer, command: str | None) -> dict[str, Route]:
    """Return the known names; all that a first search needs is then ready."""
    explorer.warm_up()
    page = render_page(explorer)
    routes = {
        "": Route("GET", lambda _: page),
        "search": Route("POST", explorer.search),
        "suggest": Route("POST", explorer.suggest),
    }
    if explorer.vectors is not None:
        report = LiveReport(explorer, command)
        routes["report"] = Route("GET", lambda _: report.page())
    return routes


class Handler(BaseHTTPRequestHandler):
    """One connection; see the module for what a request must pass."""

    server: ExploreServer
    protocol_version = "HTTP/1.1"
    timeout = TIMEOUT
    # An answer is one packet where it fits: a second one would wait for the first to be acknowledged, about 40 ms.
    wbufsize, disable_nagle_algorithm = -1, True

    def _respond(self) -> None:
        try:
            answer = self._answer()
        except RefusedError as refused:
            self._send_error(refused.status, str(refused))
        except (ValueError, TypeError) as error:
            self._send_error(HTTPStatus.BAD_REQUEST, _one_line(str(error)))
        except TimeoutError:
            self._send_error(HTTPStatus.REQUEST_TIMEOUT, "the rest of the request did not arrive: send it again.")
        except Exception as error:
            self._send_error(HTTPStatus.INTERNAL_SERVER_ERROR, _one_line(f"unexpected {type(error).__name__}: {error}"))
        else:
            page = answer if isinstance(answer, Page) else Page(json.dumps(answer), JSON, NOTHING_ALLOWED)
            self._send(HTTPStatus.OK, page)

    do_GET = do_POST = do_HEAD = do_PUT = do_PATCH = do_DELETE = do_OPTIONS = do_TRACE = do_CONNECT = _respond  # noqa: N815

    def _answer(self) -> Page | dict[str, Any]:
        if self.headers.get_all("Host") not in [[host] for host in self.server.hosts]:
            raise RefusedError(
                HTTPStatus.FORBIDDEN, "the Host header is not that of this server: open the printed address."
            )
        name = self._name()
        route = self.server.routes.get(name)
        if route is None:
            raise RefusedError(HTTPStatus.NOT_FOUND, "there is no such page: open the printed address.")
        if self.command != route.method:
            raise RefusedError(
                HTTPStatus.METHOD_NOT_ALLOWED, f"{self.command} is not allowed here: use {route.method}."
            )
        if route.method == "POST":
            return route.answer(self._body())
        if self.headers.get("Content-Length", "0") != "0" or "Transfer-Encoding" in self.headers:
            raise RefusedError(HTTPStatus.BAD_REQUEST, f"a {route.method} here has no content: send none.")
        return route.answer(None)

    def _name(self) -> str:
        """Return the part of the address after the token."""
        start, _, rest = self.path.removeprefix("/").partition("/")
        is_known = secrets.compare_digest(start.encode(errors="replace"), self.server.token.encode())
        if not (is_known and self.path.startswith(f"/{start}/")):
            raise RefusedError(HTTPStatus.FORBIDDEN, "the address lacks the right token: open the printed address.")
        return rest

    def _body(self) -> Any:
        """Return the JSON of a POST."""
        origin = self.headers.get("Origin")
        if origin is not None and origin not in [f"http://{host}" for host in self.server.hosts]:
            raise RefusedError(HTTPStatus.FORBIDDEN, "a page of another origin sent the request: use the page itself.")
        if self.headers.get_content_type() != "application/json":
            raise RefusedError(HTTPStatus.UNSUPPORTED_MEDIA_TYPE, "the request is not JSON: send application/json.")
        length, *others = self.headers.get_all("Content-Length", [""])
        if others or not (length.isascii() and length.isdecimal()) or "Transfer-Encoding" in self.headers:
            raise RefusedError(HTTPStatus.LENGTH_REQUIRED, "the request has no length: send one Content-Length.")
        if len(length) > len(str(MAX_BODY)) or int(length) > MAX_BODY:
            raise RefusedError(
                HTTPStatus.REQUEST_ENTITY_TOO_LARGE, f"the request is too large: expected at most {MAX_BODY:,} bytes."
            )
        try:
            return json.loads(self.rfile.read(int(length)))
        except (ValueError, RecursionError) as error:
            raise RefusedError(HTTPStatus.BAD_REQUEST, "the request is not valid JSON: send an object.") from error

    def handle_expect_100(self) -> bool:
        """Tell a client that waits before it sends the content to go on, at once."""
        is_expected = super().handle_expect_100()
        self.wfile.flush()
        return is_expected

    def _send_error(self, status: HTTPStatus, sentence: str) -> None:
        # The rest of the request is not parsed, so that nothing can follow it.
        self.close_connection = True
        self._send(status, Page(json.dumps({"error": sentence}), JSON, NOTHING_ALLOWED))
        # A connection that is closed before all was received is reset, and the answer may be lost with it.
        with suppress(OSError):
            self.wfile.flush()
            self.connection.shutdown(socket.SHUT_WR)
            self.connection.settimeout(LINGER)
            for _ in range(LINGER_BLOCKS):
                if not self.connection.recv(LINGER_BYTES):
                    break

    def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:
        """Answer a request that the parser of HTTP refuses."""
        status = HTTPStatus(code)
        self._send_error(status, f"{message or status.phrase}: open the printed address with a browser.")

    def _send(self, status: HTTPStatus, page: Page) -> None:
        content = page.text.encode()
        self.send_response(status)
        for name, value in HEADERS.items():
            self.send_header(name, value)
        self.send_header("Content-Security-Policy", page.policy)
        self.send_header("Content-Type", page.kind)
        self.send_header("Content-Length", str(len(content)))
        if self.close_connection:
            self.send_header("Connection", "close")
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(content)

    def version_string(self) -> str:
        """Return the name of the server, without versions."""
        return "proxcode"

    def log_message(self, format: str, *args: Any) -> None:
        """Write nothing: an address has the token."""

    def log_request(self, code: int | str = "-", size: int | str = "-") -> None:
        """Write nothing."""


def _one_line(sentence: str) -> str:
    return " ".join(sentence.split())
