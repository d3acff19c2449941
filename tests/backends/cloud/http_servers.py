"""Small HTTP servers on loopback, in threads of this process."""

from __future__ import annotations

import contextlib
import http.server
import threading
from collections.abc import Iterator


class Quiet(http.server.BaseHTTPRequestHandler):
    """Writes nothing; each connection carries one request, so that none is left open."""

    def log_message(self, format: str, *args: object) -> None:
        pass

    def reply(self, status: int, body: bytes, kind: str = "application/json") -> None:
        """Answer."""
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


@contextlib.contextmanager
def serving(
    handler: type[http.server.BaseHTTPRequestHandler], host: str = "127.0.0.1"
) -> Iterator[str]:
    """Serve on a free port; its URL."""
    server = http.server.ThreadingHTTPServer((host, 0), handler)
    with stopped_at_the_end(server):
        yield f"http://{host}:{server.server_port}"


@contextlib.contextmanager
def stopped_at_the_end(server: http.server.HTTPServer) -> Iterator[None]:
    """Serve in a thread until the end of the block."""
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield
    finally:
        server.shutdown()
        server.server_close()
        thread.join(10)
