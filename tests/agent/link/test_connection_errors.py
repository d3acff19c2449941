"""What an agent says of attempts that fail."""

import os
import socket

import pytest
from websockets.datastructures import Headers
from websockets.exceptions import InvalidStatus
from websockets.http11 import Response

from determined_agent.link.connection_errors import TELL_AGAIN_S, Complaints, in_words

LINE = "no connection to the master at m:8080: gone; trying again"


def test_a_reason_is_told_once_a_minute_with_the_number_of_attempts() -> None:
    complaints = Complaints("m:8080", TELL_AGAIN_S)
    told = [complaints.failed("gone", now_s) for now_s in range(100, 240)]
    assert told[0] == LINE
    assert told[int(TELL_AGAIN_S)] == f"{LINE} (61 attempts in 60 s)"
    assert sum(line is not None for line in told) == 3


def test_another_reason_is_told_at_once() -> None:
    complaints = Complaints("m:8080", TELL_AGAIN_S)
    complaints.failed("gone", 0.0)
    other = complaints.failed("refused", 1.0)
    assert other is not None
    assert other.startswith("no connection to the master at m:8080: refused; trying again")
    assert complaints.failed("gone", 2.0) is None


def test_after_a_connection_it_begins_anew() -> None:
    complaints = Complaints("m:8080", TELL_AGAIN_S)
    complaints.failed("gone", 0.0)
    complaints.connected()
    assert complaints.failed("gone", 1.0) == LINE


def test_where_attempts_are_few_each_is_told() -> None:
    complaints = Complaints("m:8080", 0.0)
    assert all(complaints.failed("gone", now_s) for now_s in (0.0, 1.0, 2.0))


@pytest.mark.parametrize(
    ("error", "said"),
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
def test_an_error_of_the_system_is_told_in_its_own_words(error: OSError, said: str) -> None:
    assert in_words(error) == said


@pytest.mark.parametrize(("status", "is_master"), [(404, False), (200, False), (502, True)])
def test_a_server_that_is_no_master_is_told_with_the_options(status: int, is_master: bool) -> None:
    said = in_words(InvalidStatus(Response(status, "", Headers())))
    assert ("correct master_host and master_port" in said) is not is_master
    assert str(status) in said
