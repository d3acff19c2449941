"""Two masters on one database: one leads, the other takes over."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.e2e.cluster import ROOT, until
from tests.free_ports import free_port

from determined_master.store.db import Address

pytestmark = pytest.mark.slow
WAITS = "another master leads on this database"


@contextlib.contextmanager
def master(
    database: Address, directory: Path, name: str
) -> Iterator[tuple[subprocess.Popen[bytes], str, Path]]:
    """A master's process, its address and its log; killed at the end."""
    port, log = free_port(), directory / f"{name}.log"
    command = [
        *(sys.executable, "-m", "determined_master.main"),
        *("--host", "127.0.0.1", "--port", str(port)),
        *("--db-host", str(database.host), "--db-port", str(database.port)),
        *("--db-user", database.user, "--db-name", database.database),
        *("--security-initial-user-password", "Secret-1234"),
    ]
    env = {**os.environ, "PYTHONPATH": str(ROOT / "src"), "DET_DB_PASSWORD": database.password}
    with log.open("wb") as output:
        process = subprocess.Popen(command, env=env, stdout=output, stderr=output, cwd=directory)
    try:
        yield process, f"http://127.0.0.1:{port}", log
    finally:
        process.kill()
        process.wait()


def answers(address: str) -> bool:
    try:
        with urllib.request.urlopen(f"{address}/api/v1/master", timeout=30) as answer:
            return int(answer.status) == 200
    except (urllib.error.URLError, TimeoutError, ConnectionError):
        return False


def test_a_second_master_waits_says_so_and_takes_over(database: Address, tmp_path: Path) -> None:
    with master(database, tmp_path, "first") as (first, address, _):
        until(lambda: answers(address), what="the first master")
        with master(database, tmp_path, "given-up") as (given_up, _, log):
            until(lambda: WAITS in log.read_text(), what="the second to wait")
            given_up.send_signal(signal.SIGTERM)
            assert given_up.wait(60) == 0
        with master(database, tmp_path, "second") as (second, other, log):
            until(lambda: WAITS in log.read_text(), what="the second to wait")
            first.kill()
            until(lambda: answers(other), what="the second master to lead")
            assert second.poll() is None
