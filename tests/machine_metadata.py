"""EC2's metadata service at its own address, in a network namespace."""

from __future__ import annotations

import contextlib
import ctypes
import os
import socket
import subprocess
import threading
from collections.abc import Iterator
from http.server import ThreadingHTTPServer
from pathlib import Path

from tests.backends.cloud.http_servers import Quiet, stopped_at_the_end

ADDRESS = "169.254.169.254"
TOKEN = "a token of the session"
_CLONE_NEWNET = 0x40000000


class MachineMetadata:
    """What the service answers to the machine that asks now."""

    def __init__(self) -> None:
        self.items: dict[str, str] = {}
        """Below `meta-data/`."""
        self.user_data = ""
        self.document = ""
        """Of `dynamic/instance-identity/`."""

    def answer(self, path: str) -> str | None:
        """The body of an item or of a list of items; None where there is none."""
        _, _, rest = path.lstrip("/").partition("/")  # any version of the API
        if rest == "user-data":
            return self.user_data or None
        if rest == "dynamic/instance-identity/document":
            return self.document or None
        if not rest.startswith("meta-data/"):
            return None
        name = rest.removeprefix("meta-data/")
        if name in self.items:
            return self.items[name]
        below = {key.removeprefix(name) for key in self.items if key.startswith(name)}
        names = {key[: key.find("/") + 1] or key for key in below}
        return "\n".join(sorted(names)) if names and (not name or name.endswith("/")) else None


@contextlib.contextmanager
def metadata_at_home(namespace: str) -> Iterator[MachineMetadata]:
    """A running service, which answers requests from that namespace alone."""
    served = MachineMetadata()

    class Handler(Quiet):
        def do_PUT(self) -> None:
            self.reply(200 if self.path == "/latest/api/token" else 404, TOKEN.encode())

        def do_GET(self) -> None:
            # cloud-init asks without a token where no BIOS names AWS.
            if self.headers.get("X-aws-ec2-metadata-token", TOKEN) != TOKEN:
                self.reply(401, b"")
                return
            body = served.answer(self.path)
            self.reply(404 if body is None else 200, (body or "").encode(), "text/plain")

    command = ["ip", "-n", namespace, "addr", "add", f"{ADDRESS}/32", "dev", "lo"]
    subprocess.run(command, check=True, capture_output=True, timeout=20)
    server = ThreadingHTTPServer((ADDRESS, 80), Handler, bind_and_activate=False)
    server.socket.close()
    server.socket = _socket_in(namespace)
    server.server_bind()
    server.server_activate()
    with stopped_at_the_end(server):
        yield served


def _socket_in(namespace: str) -> socket.socket:
    """A socket belongs to the namespace of the thread that makes it."""
    made: list[socket.socket] = []

    def make() -> None:
        libc = ctypes.CDLL(None, use_errno=True)
        with Path("/run/netns", namespace).open() as file:
            if libc.setns(file.fileno(), _CLONE_NEWNET):
                raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
        made.append(socket.socket())

    thread = threading.Thread(target=make)
    thread.start()
    thread.join()
    return made[0]
