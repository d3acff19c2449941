"""The ports at which the master listens."""

from __future__ import annotations

import contextlib
import socket
from collections.abc import Iterator

import pytest
from tests.free_ports import free_port

from determined_master.server.listeners import SERVICES_FROM_PORT, listen

HOST = "127.0.0.1"


@contextlib.contextmanager
def listening(port: int, services_port: int | None) -> Iterator[tuple[list[int], int]]:
    listeners, services = listen(HOST, port, services_port)
    try:
        yield [each.getsockname()[1] for each in listeners], services
    finally:
        for each in listeners:
            each.close()


def test_services_have_a_port_of_their_own_by_default() -> None:
    port = free_port()
    with listening(port, None) as (ports, services):
        assert services == port + SERVICES_FROM_PORT
        assert ports == [port, services]


def test_none_is_opened_where_none_is_asked_for() -> None:
    port = free_port()
    with listening(port, 0) as opened:
        assert opened == ([port], 0)


def test_a_default_port_in_use_is_left_out_and_logged(caplog: pytest.LogCaptureFixture) -> None:
    port = free_port()
    with socket.create_server((HOST, port + SERVICES_FROM_PORT)):
        with listening(port, None) as opened:
            assert opened == ([port], 0)
        assert "at the master's own address, in a sandbox" in caplog.text


def test_a_given_port_in_use_is_an_error_that_names_the_option() -> None:
    port, taken = free_port(), free_port()
    with (
        socket.create_server((HOST, taken)),
        pytest.raises(OSError, match=r"choose another with proxy.port"),
        listening(port, taken),
    ):
        pass
