"""What following a log costs: little is read again, and nothing is kept behind it."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import cast

import pytest

from determined_master import clock
from determined_master.domain.access import Caller
from determined_master.services.log_policies import LogPolicies
from determined_master.services.task_logs import TaskLogs, _Sent
from determined_master.store.pool import Pool
from determined_master.store.task_logs import LogFilter, LogRow


def test_lines_sent_a_minute_ago_are_not_read_again(monkeypatch: pytest.MonkeyPatch) -> None:
    now_s = 1000.0
    monkeypatch.setattr(clock, "monotonic_s", lambda: now_s)
    sent = _Sent()
    sent.add([row(number) for number in range(1, 1001)])
    now_s += 50
    sent.add([row(1002)])
    assert sent.floor == 0, "a line of a number below may still be committed"
    now_s += 20
    sent.add([row(1003)])
    assert (sent.floor, sent.count) == (1000, 1002)


def test_no_more_than_the_last_numbers_are_read_again() -> None:
    sent = _Sent()
    sent.add([row(number) for number in range(1, 100_000, 100)])
    assert sent.floor == 99_901 - _Sent.OVERLAP


@pytest.mark.slow
async def test_nothing_is_kept_of_a_task_that_nobody_follows_any_more(pool: Pool) -> None:
    logs = TaskLogs(pool, cast(LogPolicies, None))  # looked at when lines are stored
    caller = Caller(user_id=1, username="ann")
    pages = [page async for page in logs.follow(caller, ["1.over", "2.over"], LogFilter())]
    assert (pages, logs._news) == ([], {})


def row(number: int) -> LogRow:
    return LogRow(
        id=number,
        task_id="1.t",
        allocation_id=None,
        agent_id=None,
        container_id=None,
        rank_id=None,
        logged_at=datetime(2026, 1, 1, tzinfo=UTC),
        level=3,
        source=None,
        stdtype=None,
        log="",
    )
