"""Stands for a master in the harness's tests: answers its routes and records every call."""

from __future__ import annotations

import base64
import contextlib
import io
import json
import re
import socket
import tarfile
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Callable, NamedTuple
from urllib.parse import parse_qs, urlsplit

DEADLINE_S = 60


class Call(NamedTuple):
    method: str
    path: str
    query: dict[str, list[str]]
    body: Any
    headers: dict[str, str]


Answer = tuple[int, Any]
"""Status and body: bytes are plain text, as a gateway sends it, all else is JSON."""
Route = Callable[[Call], Answer]


class MasterDouble:
    """A server on a free port of this machine, as a context manager."""

    def __init__(self, port: int = 0) -> None:
        self.calls: list[Call] = []
        self.connections = 0
        self.preempt = threading.Event()
        self.context = ""
        self._routes: list[tuple[str, re.Pattern[str], Route]] = []
        self._lock = threading.Lock()
        self._sockets: list[socket.socket] = []
        self._set_defaults()
        double = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            timeout = 90

            def setup(self) -> None:
                super().setup()
                with double._lock:
                    double.connections += 1
                    double._sockets.append(self.connection)

            def _serve(self) -> None:
                size = int(self.headers.get("Content-Length") or 0)
                raw = self.rfile.read(size)
                parts = urlsplit(self.path)
                call = Call(
                    self.command,
                    parts.path,
                    parse_qs(parts.query),
                    json.loads(raw) if raw else None,
                    dict(self.headers.items()),
                )
                status, body = double._answer(call)
                is_text = isinstance(body, bytes)
                payload = body if is_text else json.dumps(body).encode()
                self.send_response(status)
                self.send_header("Content-Type", "text/plain" if is_text else "application/json")
                self.send_header("Content-Length", str(len(payload)))
                self.end_headers()
                self.wfile.write(payload)

            do_GET = do_POST = do_PATCH = do_PUT = do_DELETE = _serve

            def log_message(self, format: str, *args: Any) -> None:
                pass

        class Server(ThreadingHTTPServer):
            daemon_threads = True
            block_on_close = False
            allow_reuse_address = True

            def handle_error(self, request: Any, client_address: Any) -> None:
                pass  # a client that went away

        self._server = Server(("127.0.0.1", port), Handler)
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,))

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def port(self) -> int:
        return self._server.server_address[1]

    def __enter__(self) -> MasterDouble:
        self._thread.start()
        return self

    def __exit__(self, *_: Any) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()
        with self._lock:
            for connection in self._sockets:  # as those of a process that ended
                with contextlib.suppress(OSError):
                    connection.shutdown(socket.SHUT_RDWR)

    def on(self, method: str, path: str, answer: Answer | Route) -> None:
        """Answer a route (a regular expression of the path) from now on."""
        route = answer if callable(answer) else lambda _call: answer
        self._routes.insert(0, (method, re.compile(path), route))

    def serve_files(self, files: dict[str, str]) -> None:
        """Let the context directory hold these files."""
        raw = io.BytesIO()
        with tarfile.open(fileobj=raw, mode="w:gz") as archive:
            for name, content in files.items():
                data = content.encode()
                member = tarfile.TarInfo(name)
                member.size = len(data)
                archive.addfile(member, io.BytesIO(data))
        self.context = base64.b64encode(raw.getvalue()).decode()

    def named(self, method: str, ending: str) -> list[Call]:
        """Calls of a method whose path ends so."""
        with self._lock:
            return [c for c in self.calls if c.method == method and c.path.endswith(ending)]

    def reports(self) -> list[dict[str, Any]]:
        """Every metric report, whether it came alone or in a batch, in order."""
        found: list[dict[str, Any]] = []
        with self._lock:
            for call in self.calls:
                if call.path.endswith("/metrics/batch"):
                    found += call.body["reports"]
                elif call.path.endswith("/metrics"):
                    found.append(call.body)
        return found

    def _answer(self, call: Call) -> Answer:
        with self._lock:
            self.calls.append(call)
            routes = list(self._routes)
        for method, path, route in routes:
            if method == call.method and path.search(call.path):
                return route(call)
        return 404, {"error": {"code": 5, "reason": "NotFound", "error": f"no {call.path}"}}

    def _set_defaults(self) -> None:
        self.on("GET", "/context_directory$", lambda _: (200, {"b64Tgz": self.context}))
        rendezvous = {"addresses": ["127.0.0.1"], "rank": 0, "slots": [1]}
        self.on("GET", r"/trials/\d+$", (200, {"trial": {"summaryMetrics": {}}}))
        self.on("GET", "/rendezvous$", (200, {"rendezvousInfo": rendezvous}))
        self.on("POST", "/acceleratorData$", (200, {}))
        self.on("GET", "/signals/preemption$", self._wait_for_preemption)
        self.on("POST", "/signals/ack_preemption$", (200, {}))
        self.on("POST", "/ready$", (200, {}))
        self.on("POST", "/runs/start$", (200, {"storageId": 7}))
        self.on("POST", "/progress$", (200, {}))
        self.on("POST", "/runner/metadata$", (200, {}))
        self.on("POST", "/early_exit$", (200, {}))
        self.on("POST", "/metrics$", (200, {}))
        self.on(
            "POST",
            "/metrics/batch$",
            lambda call: (200, {"results": [{"error": ""} for _ in call.body["reports"]]}),
        )
        self.on("POST", "/api/v1/checkpoints$", (200, {}))
        self.on("PATCH", "/api/v1/checkpoints$", (200, {}))

    def _wait_for_preemption(self, call: Call) -> Answer:
        wait_s = float(call.query.get("timeoutSeconds", ["0"])[0])
        return 200, {"preempt": self.preempt.wait(min(wait_s, 5.0))}


def until(condition: Callable[[], Any], what: str, deadline_s: float = DEADLINE_S) -> Any:
    """Poll until a condition holds; its value."""
    end = time.monotonic() + deadline_s
    while True:
        value = condition()
        if value:
            return value
        assert time.monotonic() < end, f"not within {deadline_s} s: {what}"
        time.sleep(0.01)
