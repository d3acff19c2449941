"""The status of a master that systemd runs."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest

from determined_master.server.service_status import show_status


@pytest.mark.parametrize("is_abstract", [False, True])
def test_the_line_arrives_where_systemd_listens(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_abstract: bool
) -> None:
    name = str(tmp_path / "notify")
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as systemd:
        systemd.bind(f"\0{name}" if is_abstract else name)
        systemd.settimeout(10)
        monkeypatch.setenv("NOTIFY_SOCKET", f"@{name}" if is_abstract else name)
        show_status("is ready at http://10.0.0.1:8080")
        assert systemd.recv(200) == b"STATUS=is ready at http://10.0.0.1:8080"


@pytest.mark.parametrize("where", ["", "relative", "/nowhere/notify"])
def test_a_master_without_systemd_runs_on(where: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NOTIFY_SOCKET", where)
    show_status("is ready")
