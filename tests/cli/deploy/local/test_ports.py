"""Ports in use, their owners, and free ports."""

from __future__ import annotations

import os
import socket

import pytest

from determined.cli import errors
from determined_deploy.local import ports


def test_the_error_for_a_busy_port_names_its_owner_and_a_free_port() -> None:
    with socket.create_server(("127.0.0.1", 0)) as held:
        port = held.getsockname()[1]
        with pytest.raises(errors.CliError) as caught:
            ports.check_free("127.0.0.1", port, "--master-port")
        text = str(caught.value)
        free = int(text.split("--master-port ")[1].split(",")[0])
    assert f"port {port} is in use by pid {os.getpid()} (" in text
    assert "python" in text or "pytest" in text
    assert free > port
    assert ports.is_free("127.0.0.1", free)


def test_a_free_port_passes() -> None:
    with socket.create_server(("127.0.0.1", 0)) as held:
        port = held.getsockname()[1]
    ports.check_free("127.0.0.1", port, "--master-port")


def test_the_error_names_an_address_of_another_machine() -> None:
    with pytest.raises(errors.CliError, match=r"cannot listen on 203\.0\.113\.9 port 1234"):
        ports.check_free("203.0.113.9", 1234, "--master-port")
