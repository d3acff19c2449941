"""The init container of a pod, in the task's image: it writes the task's files.

`python3 prepare.py ORDER_DIR TARGET_DIR`. It unpacks `files.tar.gz` of the order into the target's
`run`, and the harness, which it fetches from the master, into `harness`. It uses only the standard
library of Python 3.9, because the image contains nothing of ours yet. If the master is
unavailable, it retries for up to ten minutes.
"""

from __future__ import annotations

import http.client
import io
import os
import ssl
import sys
import tarfile
import time
import urllib.error
import urllib.request
from typing import Any

PATIENCE_S = 600.0
LONGEST_PAUSE_S = 15.0


def main(order_dir: str, target: str) -> None:
    """Unpack all files, or exit with the reason on standard error."""
    with open(os.path.join(order_dir, "files.tar.gz"), "rb") as file:
        unpack(file.read(), target)
    harness = os.path.join(target, "harness")
    os.makedirs(harness, mode=0o755, exist_ok=True)
    unpack(fetch(order_dir), harness)


def unpack(data: bytes, directory: str) -> None:
    """Unpack an archive of the master's, with its modes and this user as the owner."""
    umask = os.umask(0)
    try:
        with tarfile.open(fileobj=io.BytesIO(data), mode="r:gz") as archive:
            for member in archive:
                path = os.path.join(directory, member.name)
                if member.isdir():
                    os.makedirs(path, exist_ok=True)
                else:
                    source = archive.extractfile(member)
                    if source is None:
                        continue
                    os.makedirs(os.path.dirname(path), exist_ok=True)
                    with open(path, "wb") as file:
                        file.write(source.read())
                os.chmod(path, member.mode)
    finally:
        os.umask(umask)


def fetch(order_dir: str) -> bytes:
    """Download the harness from the master."""
    url = os.environ["DET_MASTER"].rstrip("/") + "/task/harness.tar.gz"
    token = os.environ.get("DET_SESSION_TOKEN", "")
    request = urllib.request.Request(url, headers={"Authorization": f"Bearer {token}"})
    direct = urllib.request.build_opener(
        urllib.request.ProxyHandler({}),
        _https(order_dir),
    )
    ends_at = time.monotonic() + PATIENCE_S
    pause_s = 0.5
    while True:
        try:
            with direct.open(request, timeout=60) as answer:
                return bytes(answer.read())
        except urllib.error.HTTPError as error:
            # One that is not JSON comes from a gateway, while the master behind it restarts.
            is_masters = "json" in error.headers.get("Content-Type", "")
            reason, is_final = f"HTTP {error.code}", error.code == 404 and is_masters
        except (OSError, http.client.HTTPException) as error:
            reason, is_final = str(error), False
        if is_final or time.monotonic() > ends_at:
            sys.exit(f"the master at {url} does not give the task's files: {reason}")
        time.sleep(pause_s)
        pause_s = min(2 * pause_s, LONGEST_PAUSE_S)


def _https(order_dir: str) -> urllib.request.HTTPSHandler:
    context = ssl.create_default_context()
    own = os.path.join(order_dir, "master.crt")
    if os.path.exists(own):
        context.load_verify_locations(own)
    return _Named(context, os.environ.get("DET_MASTER_CERT_NAME") or None)


class _Named(urllib.request.HTTPSHandler):
    """HTTPS to a master whose certificate has another name than its address."""

    def __init__(self, context: ssl.SSLContext, name: str | None) -> None:
        super().__init__(context=context)
        self.trust = context
        self.name = name

    def https_open(self, request: urllib.request.Request) -> http.client.HTTPResponse:
        return self.do_open(self._connection, request)

    def _connection(self, host: str, **options: Any) -> http.client.HTTPSConnection:
        options.pop("context", None)
        return _Connection(host, self.trust, self.name, options)


class _Connection(http.client.HTTPSConnection):
    def __init__(
        self, host: str, trust: ssl.SSLContext, name: str | None, options: dict[str, Any]
    ) -> None:
        super().__init__(host, context=trust, **options)
        self.trust = trust
        self.shown_name = name or self.host

    def connect(self) -> None:
        http.client.HTTPConnection.connect(self)
        self.sock = self.trust.wrap_socket(self.sock, server_hostname=self.shown_name)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2])
