"""Log lines about failed connections."""

import os
import socket

import pytest
from websockets.datastructures import Headers
from websockets.exceptions import InvalidStatus
from websockets.http11 import Response

from determined_agent.link.connection_errors import REPEAT_AFTER_S, ConnectionErrorLog, error_text

LINE = "no connection to the master at m:8080: gone; trying again"


def test_a_reason_is_logged_once_a_minute_with_the_number_of_attempts() -> None:
    errors = ConnectionErrorLog("m:8080", REPEAT_AFTER_S)
    lines = [errors.error_line("gone", now_s) for now_s in range(100, 240)]
    assert lines[0] == LINE
    assert lines[int(REPEAT_AFTER_S)] == f"{LINE} (61 attempts in 60 s)"
    assert sum(line is not None for line in lines) == 3


def test_another_reason_is_logged_at_once() -> None:
    errors = ConnectionErrorLog("m:8080", REPEAT_AFTER_S)
    errors.error_line("gone", 0.0)
    other = errors.error_line("refused", 1.0)
    assert other is not None
    assert other.startswith("no connection to the master at m:8080: refused; trying again")
    assert errors.error_line("gone", 2.0) is None


def test_a_connection_resets_the_log() -> None:
    errors = ConnectionErrorLog("m:8080", REPEAT_AFTER_S)
    errors.error_line("gone", 0.0)
    errors.connected()
    assert errors.error_line("gone", 1.0) == LINE


def test_with_a_repeat_time_of_zero_each_failure_is_logged() -> None:
    errors = ConnectionErrorLog("m:8080", 0.0)
    assert all(errors.error_line("gone", now_s) for now_s in (0.0, 1.0, 2.0))


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (ConnectionRefusedError(111, "Connect call failed ('127.0.0.1', 1)"), os.strerror(111)),
        (
            OSError(
                "Multiple exceptions: [Errno 111] Connect call failed ('::1', 1, 0, 0), "
                "[Errno 111] Connect call failed ('127.0.0.1', 1)"
            ),
            os.strerror(111),
        ),
        (socket.gaierror(-2, "Name or service not known"), "Name or service not known"),
        (TimeoutError("timed out"), "timed out"),
        (TimeoutError(), "TimeoutError"),
    ],
)
def test_the_text_of_a_system_error_is_the_systems(error: OSError, text: str) -> None:
    assert error_text(error) == text


@pytest.mark.parametrize(("status", "is_master"), [(404, False), (200, False), (502, True)])
def test_the_text_for_a_server_that_is_not_a_master_names_the_options(
    status: int, is_master: bool
) -> None:
    text = error_text(InvalidStatus(Response(status, "", Headers())))
    assert ("correct master_host and master_port" in text) is not is_master
    assert str(status) in text
