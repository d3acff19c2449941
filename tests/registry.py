"""A registry of images on loopback, with one small image that tests can spoil, and those added."""

from __future__ import annotations

import base64
import contextlib
import gzip
import hashlib
import io
import json
import tarfile
import threading
from collections.abc import Iterator, Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

_LAYER = "application/vnd.docker.image.rootfs.diff.tar.gzip"
_MANIFEST = "application/vnd.docker.distribution.manifest.v2+json"
_CONFIG = "application/vnd.docker.container.image.v1+json"


class Registry:
    """Serves `HOST/small:1`, an image with one file and no program."""

    def __init__(self, server: ThreadingHTTPServer) -> None:
        self.host = f"127.0.0.1:{server.server_address[1]}"
        self.image = f"{self.host}/small:1"
        self.password = ""
        """Of the user `alice`; empty lets everybody in."""
        self.cuts = 0
        """So many of the next downloads of the layer break off half-way."""
        self.pulls = 0
        """Downloads of the layer that have begun."""
        self.open = threading.Event()
        """Cleared, downloads stop half-way until it is set."""
        self.open.set()
        self._blobs: dict[str, tuple[str, bytes]] = {}
        self._manifests: dict[str, bytes] = {}
        layer = _layer()
        self.layer = _digest(layer)
        config = {
            "architecture": "amd64",
            "os": "linux",
            "config": {},
            "rootfs": {"type": "layers", "diff_ids": [_digest(gzip.decompress(layer))]},
        }
        self.add("small", json.dumps(config).encode(), [layer])

    def add(self, name: str, config: bytes, layers: Sequence[bytes]) -> None:
        """Serve an image as `HOST/NAME:1`; its layers are compressed by gzip."""
        manifest = {
            "schemaVersion": 2,
            "mediaType": _MANIFEST,
            "config": self._described(self._put(_CONFIG, config)),
            "layers": [self._described(self._put(_LAYER, layer)) for layer in layers],
        }
        self._manifests[name] = json.dumps(manifest).encode()

    @contextlib.contextmanager
    def holding(self) -> Iterator[None]:
        """Let downloads of the layer stop half-way."""
        self.open.clear()
        try:
            yield
        finally:
            self.open.set()

    def answer(self, path: str, user: str | None) -> tuple[int, str, bytes]:
        """Status, type and body for a path below /v2/."""
        if self.password and user != f"alice:{self.password}":
            return 401, "application/json", _error("UNAUTHORIZED", "authentication required")
        if path == "/v2/":
            return 200, "application/json", b"{}"
        image, _, rest = path.removeprefix("/v2/").partition("/")
        kind, _, name = rest.partition("/")
        manifest = self._manifests.get(image)
        if kind == "manifests" and manifest and name in ("1", _digest(manifest)):
            return 200, _MANIFEST, manifest
        if kind == "blobs" and name in self._blobs:
            return 200, *self._blobs[name]
        return 404, "application/json", _error("MANIFEST_UNKNOWN", "manifest unknown")

    def _put(self, kind: str, content: bytes) -> str:
        digest = _digest(content)
        self._blobs[digest] = (kind, content)
        return digest

    def _described(self, digest: str) -> dict[str, object]:
        kind, content = self._blobs[digest]
        return {"mediaType": kind, "size": len(content), "digest": digest}


@contextlib.contextmanager
def registry() -> Iterator[Registry]:
    """A registry that is gone at the end."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
    made = Registry(server)
    server.registry = made  # type: ignore[attr-defined]  # how the handlers find it
    serving = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    serving.start()
    try:
        yield made
    finally:
        server.shutdown()
        server.server_close()
        serving.join()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.0"

    def do_GET(self) -> None:
        made: Registry = self.server.registry  # type: ignore[attr-defined]  # see above
        kind, _, credentials = self.headers.get("Authorization", "").partition(" ")
        user = base64.b64decode(credentials).decode() if kind == "Basic" else None
        status, content_type, body = made.answer(self.path, user)
        self.send_response(status)
        self.send_header("Content-Type", content_type)
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Docker-Content-Digest", _digest(body))
        if status == 401:
            self.send_header("WWW-Authenticate", 'Basic realm="test"')
        self.end_headers()
        if self.command == "HEAD":
            return
        if self.path.endswith(made.layer):
            made.pulls += 1
            if made.cuts:
                made.cuts -= 1
                body = body[: len(body) // 2]
            self.wfile.write(body[: len(body) // 2])
            made.open.wait(30)
            body = body[len(body) // 2 :]
        with contextlib.suppress(ConnectionError):
            self.wfile.write(body)

    do_HEAD = do_GET

    def log_message(self, format: str, *args: object) -> None:
        return


def _layer() -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as tar:
        content = hashlib.shake_256(b"not to be compressed").digest(300_000)
        info = tarfile.TarInfo("some/file")
        info.size = len(content)
        tar.addfile(info, io.BytesIO(content))
    return gzip.compress(buffer.getvalue(), mtime=0)


def _digest(content: bytes) -> str:
    return f"sha256:{hashlib.sha256(content).hexdigest()}"


def _error(code: str, message: str) -> bytes:
    return json.dumps({"errors": [{"code": code, "message": message}]}).encode()
