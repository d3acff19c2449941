"""A local object storage in a process of its own: moto's S3, which also serves the requests that
obstore sends to Google Cloud Storage (its XML interface is S3's, but for the signature).

Run as a program it prints its port and serves until its standard input ends.
"""

from __future__ import annotations

import contextlib
import re
import subprocess
import sys
import urllib.request
import uuid
from collections.abc import Iterator
from typing import Any
from urllib.parse import quote, unquote_plus

SIGNATURE = (
    "AWS4-HMAC-SHA256 Credential=test/20260101/us-east-1/s3/aws4_request, "
    "SignedHeaders=host, Signature=none"
)


class ObjectServer:
    """A running server."""

    def __init__(self, url: str) -> None:
        self.url = url

    def new_bucket(self) -> str:
        """Make an empty bucket; its name."""
        name = f"test{uuid.uuid4().hex}"  # no sign that clients encode, and moto does not decode
        self.request("PUT", name)
        return name

    def put(self, bucket: str, key: str, content: bytes) -> None:
        """Store an object of any name, also of those that obstore refuses."""
        self.request("PUT", f"{bucket}/{quote(key)}", content)

    def get(self, bucket: str, key: str) -> bytes:
        """An object's content."""
        return self.request("GET", f"{bucket}/{quote(key)}")

    def remove(self, bucket: str, key: str) -> None:
        """Delete an object."""
        self.request("DELETE", f"{bucket}/{quote(key)}")

    def keys(self, bucket: str) -> list[str]:
        """All keys of a bucket."""
        text = self.request("GET", f"{bucket}?list-type=2&encoding-type=url").decode()
        return [unquote_plus(key) for key in re.findall("<Key>([^<]*)</Key>", text)]

    def request(self, method: str, path: str, content: bytes | None = None) -> bytes:
        """One unsigned request."""
        kind = {"Content-Type": "application/octet-stream"}
        asked = urllib.request.Request(f"{self.url}/{path}", content, kind, method=method)
        with urllib.request.urlopen(asked, timeout=30) as answer:
            body: bytes = answer.read()
            return body


@contextlib.contextmanager
def object_server() -> Iterator[ObjectServer]:
    """Start one, and stop it at the end."""
    process = subprocess.Popen(
        [sys.executable, "-W", "ignore", __file__],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        port = int(process.stdout.readline())
        yield ObjectServer(f"http://127.0.0.1:{port}")
    finally:
        process.stdin.close()
        process.stdout.close()
        process.wait(timeout=30)


def main() -> None:
    """Serve on a free port of loopback."""
    import os
    import threading

    from moto.moto_server.werkzeug_app import DomainDispatcherApplication, create_backend_app
    from werkzeug.serving import make_server

    application = DomainDispatcherApplication(create_backend_app)

    def front(environ: dict[str, Any], start: Any) -> Any:
        if not environ.get("HTTP_AUTHORIZATION", "").startswith("AWS4"):
            environ["HTTP_AUTHORIZATION"] = SIGNATURE
        for name in ("RAW_URI", "REQUEST_URI"):
            # Clients encode the dash of a bucket's name, and moto does not decode it.
            environ[name] = environ.get(name, "").replace("%2D", "-")
        return application(environ, start)

    server = make_server("127.0.0.1", 0, front, threaded=True)
    sys.stdout.write(f"{server.server_port}\n")
    sys.stdout.flush()
    threading.Thread(target=server.serve_forever, daemon=True).start()
    sys.stdin.read()
    os._exit(0)  # connections that clients keep open are no reason to wait


if __name__ == "__main__":
    main()
