"""The bare server on a cluster's own PostgreSQL: what its parts allow on this machine now."""

from __future__ import annotations

import contextlib
import json
import socket
import subprocess
import sys
from collections.abc import Iterator

from bench.cluster import HOST, Cluster, free_port, until
from bench.load.http_load import request_bytes
from bench.peers import PROGRAMS
from determined_master.store.embedded.answers import connection_options
from determined_master.store.embedded.files import Layout

STOP_LIMIT_S = 20.0


@contextlib.contextmanager
def bare_server(cluster: Cluster) -> Iterator[Cluster]:
    """A running bare server; loads take it for a cluster."""
    options = connection_options(Layout(cluster.files / "postgres"))
    server = Cluster(cluster.directory, free_port(), cluster.bytecode)
    program = str(PROGRAMS / "bare_server.py")
    process = subprocess.Popen(
        [sys.executable, program, str(server.port)],
        # Not an argument: every user of the machine can read those.
        env={**cluster.environment(), "BARE_DATABASE": json.dumps(options, default=str)},
    )
    try:
        until(lambda: _listens(server.port, process), 30, "the bare server")
        yield server
    finally:
        process.terminate()
        try:
            process.wait(STOP_LIMIT_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def moved_to(server: Cluster, request: bytes, path: str) -> bytes:
    """The same body, to a path of the bare server."""
    return request_bytes(server, "POST", path, request.partition(b"\r\n\r\n")[2])


def _listens(port: int, process: subprocess.Popen[bytes]) -> bool:
    if process.poll() is not None:
        raise RuntimeError(f"the bare server ended with {process.returncode}")
    with socket.socket() as probe:
        return probe.connect_ex((HOST, port)) == 0
