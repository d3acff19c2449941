"""The headers of the API server's answers."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from determined_master.backends.kubernetes.answer_heads import clock_ahead, pause_before_repeat

NOW = datetime(2026, 1, 1, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    ("status", "header", "pause_s"),
    [
        (429, "1", 1.0),
        (503, "0", 0.0),
        (500, "7", 7.0),
        (429, "86400", 30.0),
        (429, "", None),
        (429, "Wed, 21 Oct 2026 07:28:00 GMT", None),
        (429, "-1", None),
        (403, "1", None),
        (200, "1", None),
    ],
)
def test_a_request_is_repeated_when_the_server_says_so(
    status: int, header: str, pause_s: float | None
) -> None:
    assert pause_before_repeat(status, {"Retry-After": header}) == pause_s


@pytest.mark.parametrize(
    ("header", "ahead_s"),
    [
        ("Thu, 01 Jan 2026 12:00:01 GMT", 0),
        ("Thu, 01 Jan 2026 13:00:00 GMT", 3600),
        ("Thu, 01 Jan 2026 11:59:00 GMT", -60),
        ("yesterday", None),
        ("", None),
    ],
)
def test_the_servers_clock_is_read_from_its_answers(header: str, ahead_s: int | None) -> None:
    found = clock_ahead({"Date": header}, NOW)
    assert found == (None if ahead_s is None else timedelta(seconds=ahead_s))
