"""Connections to an API server behind TLS."""

from __future__ import annotations

import asyncio
import contextlib
import json
import socket
import ssl
import threading
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest
from tests.certificates import Authority

from determined_master.backends.kubernetes.client import KubernetesApi

pytestmark = pytest.mark.slow
BEGIN = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nfirst\r\n"


@pytest.fixture
def endless(tmp_path: Path) -> Iterator[int]:
    """The port of a server that begins an answer, and neither ends it nor closes its side."""
    pair = Authority(tmp_path).sign("127.0.0.1")
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(pair.cert, pair.key)
    done = threading.Event()
    listener = socket.create_server(("127.0.0.1", 0))

    def serve() -> None:
        plain, _ = listener.accept()
        with context.wrap_socket(plain, server_side=True) as client:
            client.recv(65536)
            client.sendall(BEGIN)
            done.wait()

    thread = threading.Thread(target=serve)
    thread.start()
    yield listener.getsockname()[1]
    done.set()
    with contextlib.suppress(OSError):  # a test that never connected
        socket.create_connection(listener.getsockname()).close()
    thread.join()
    listener.close()


async def test_a_watch_that_is_left_keeps_no_socket_although_the_server_does(
    endless: int, tmp_path: Path
) -> None:
    config = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [
            {
                "name": "c",
                "cluster": {
                    "server": f"https://127.0.0.1:{endless}",
                    "insecure-skip-tls-verify": True,
                },
            }
        ],
        "users": [{"name": "u", "user": {"token": "t"}}],
        "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}],
        "current-context": "c",
    }
    (tmp_path / "kubeconfig").write_text(json.dumps(config))
    api = KubernetesApi(str(tmp_path / "kubeconfig"))
    pieces = api.stream("/api/v1/pods", {"watch": "true"}, idle_s=60)
    async with contextlib.aclosing(pieces):
        assert await anext(pieces) == b"first"
        assert _sockets_to(endless) == 1
    await api.close()
    for _ in range(10):
        await asyncio.sleep(0)
    assert _sockets_to(endless) == 0


def _sockets_to(port: int) -> int:
    """The open connections of this process to a port."""
    found = psutil.Process().net_connections("tcp")
    return sum(bool(c.raddr) and c.raddr.port == port and c.fd != -1 for c in found)
