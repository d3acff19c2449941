"""Clusters in memory, and a master from which their pods get the harness."""

from __future__ import annotations

import threading
from collections.abc import AsyncIterator, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from tests.backends.kubernetes.objects import KUBECONFIG, cluster_options
from tests.contracts.kubernetes_contract import World
from tests.fake_kubernetes.kubelet import (
    IMAGES_THAT_ARE_NOT_THERE,
    VOLUMES_THAT_ARE_NOT_THERE,
    FakeKubelet,
)
from tests.fake_kubernetes.server import FakeServer

from determined_master.services.containers.harness import pack


@pytest.fixture(scope="module")
def master() -> Iterator[int]:
    """A port at which pods find the harness."""
    archive = pack()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("Content-Length", str(len(archive)))
            self.end_headers()
            self.wfile.write(archive)

        def log_message(self, format: str, *args: object) -> None:
            pass

    server = ThreadingHTTPServer(("0.0.0.0" if KUBECONFIG else "127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield server.server_address[1]
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture
async def fake(tmp_path: Path) -> AsyncIterator[FakeKubelet]:
    server = FakeServer()
    await server.start()
    kubelet = FakeKubelet(server, tmp_path / "pods")
    await kubelet.add_node("node-a")
    server.kubeconfig(tmp_path / "kubeconfig")
    yield kubelet
    await kubelet.stop()
    await server.stop()


@pytest.fixture
async def world(fake: FakeKubelet, master: int, tmp_path: Path) -> AsyncIterator[World]:
    given = cluster_options(str(tmp_path / "kubeconfig"), "127.0.0.1", master)
    made = World(given, "any", 60.0, IMAGES_THAT_ARE_NOT_THERE)
    made.unmountable = VOLUMES_THAT_ARE_NOT_THERE
    await made.open()
    yield made
    await made.close()
