"""A server with the HTTP interface of ClickHouse, in front of an engine inside this process."""

import threading
from contextlib import contextmanager
from email import message_from_bytes
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qsl, urlsplit


@contextmanager
def http_server(engine):
    """Serve a chdb client of clickhouse_connect by HTTP; yield the port and the list of requests as they come in.

    A request is recorded as its statement, the bound parameters by name, and the settings. Settings are not applied.
    """
    import chdb

    requests, connection = [], chdb.connect(":memory:")

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            self.do_POST()

        def do_POST(self):
            fields = dict(parse_qsl(urlsplit(self.path).query, keep_blank_values=True))
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            if "multipart/form-data" in self.headers.get("Content-Type", ""):
                form = message_from_bytes(b"Content-Type: " + self.headers["Content-Type"].encode() + b"\n\n" + body)
                for part in form.get_payload():
                    name = part.get_param("name", header="content-disposition")
                    fields[name] = part.get_payload(decode=True).decode()
                body = b""
            statement, _, block = (fields.pop("query", "").encode() + body).partition(b" FORMAT RowBinary\n")
            values = {name[6:]: value for name, value in fields.items() if name.startswith("param_")}
            settings = {name: value for name, value in fields.items() if not name.startswith("param_")}
            requests.append((statement.decode(), values, settings))
            try:
                status, answer = 200, self.run(statement.decode(), block, values)
            except Exception as error:
                status, answer = 500, str(error).encode()
            self.send_response(status)
            self.send_header("Content-Length", str(len(answer)))
            self.end_headers()
            self.wfile.write(answer)

        @staticmethod
        def run(statement, block, values):
            if statement.startswith("INSERT"):
                engine.raw_insert(statement.removeprefix("INSERT INTO "), insert_block=block, fmt="RowBinary")
                return b""
            return connection.query(statement, "TabSeparated", params=values).bytes()

        def log_message(self, *arguments):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield server.server_address[1], requests
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
        connection.close()
