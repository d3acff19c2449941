"""The metadata services of EC2 and Compute Engine, as far as the end of a machine needs them."""

from __future__ import annotations

import contextlib
import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

TOKEN = "a token of the session"
AT = "2026-11-26T00:20:00Z"


class MetadataService:
    """A running service; nothing is announced at first."""

    def __init__(self, address: str) -> None:
        self.address = address
        """`HOST:PORT`."""
        self.is_taken_back = False
        self.is_at_risk = False
        """AWS advises to leave the machine."""
        self.maintenance = "NONE"
        self.broken_answers = 0
        """So many next requests are answered with a 503."""
        self.asked: list[str] = []

    def answer(self, method: str, path: str, headers: dict[str, str]) -> tuple[int, str]:
        """Status and body of one request."""
        self.asked.append(f"{method} {path}")
        if self.broken_answers:
            self.broken_answers -= 1
            return 503, "not now"
        if path == "/latest/api/token":
            return (200, TOKEN) if method == "PUT" else (405, "")
        if path == "/latest/dynamic/instance-identity/document":
            if headers.get("x-aws-ec2-metadata-token") != TOKEN:
                return 401, ""
            return 200, json.dumps({"instanceId": "i-5", "region": "us-west-2", "version": "1"})
        if path == "/latest/meta-data/spot/instance-action":
            if headers.get("x-aws-ec2-metadata-token") != TOKEN:
                return 401, ""
            action = json.dumps({"action": "terminate", "time": AT})
            return (200, action) if self.is_taken_back else (404, "")
        if path == "/latest/meta-data/events/recommendations/rebalance":
            if headers.get("x-aws-ec2-metadata-token") != TOKEN:
                return 401, ""
            advice = json.dumps({"noticeTime": AT})
            return (200, advice) if self.is_at_risk else (404, "")
        if headers.get("metadata-flavor") != "Google":
            return 403, ""
        if path == "/computeMetadata/v1/instance/preempted":
            return 200, "TRUE" if self.is_taken_back else "FALSE"
        if path == "/computeMetadata/v1/instance/maintenance-event":
            return 200, self.maintenance
        return 404, ""


@contextlib.contextmanager
def metadata_service() -> Iterator[MetadataService]:
    """Start one, and stop it at the end."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            named = {name.lower(): value for name, value in self.headers.items()}
            status, body = service.answer(self.command, self.path, named)
            self.send_response(status)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body.encode())

        do_PUT = do_GET

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    service = MetadataService(f"127.0.0.1:{server.server_port}")
    thread = threading.Thread(target=server.serve_forever, args=(0.05,))
    thread.start()
    try:
        yield service
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
