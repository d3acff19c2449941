"""What following a log costs: little is read again, and nothing is kept behind it."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any, cast

import pytest
from tests.log_searches import searches_in

from determined_master import clock
from determined_master.domain.access.rules import Caller
from determined_master.records.logs import LogFilter, LogRow
from determined_master.services.logs.following import LOOK_BACK_S, PAGE, Follower, LinesAsked
from determined_master.services.logs.policies import LogPolicyMatcher
from determined_master.services.logs.task_logs import TaskLogs
from determined_master.services.logs.times import LogTimes
from determined_master.store.db import Database
from determined_master.store.logs.task_logs import copy_lines

AT = datetime(2026, 1, 1, tzinfo=UTC)


def follower(pool: Any = None) -> Follower:
    return Follower(LinesAsked(pool, searches_in(pool), 1, ["1.t"], LogFilter(), LogTimes(pool)))


class Clock:
    """A clock that the test moves."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now_s = 1000.0
        monkeypatch.setattr(clock, "monotonic_s", lambda: self.now_s)


@pytest.fixture
def at(monkeypatch: pytest.MonkeyPatch) -> Clock:
    return Clock(monkeypatch)


def test_lines_sent_a_minute_ago_are_settled(at: Clock) -> None:
    sent = follower()
    sent.add([row(number) for number in range(1, 1001)])
    at.now_s += 50
    sent.add([row(1002)])
    assert sent.floor == 0, "a line of a number below may still be committed"
    at.now_s += 20
    sent.add([row(1003)])
    assert (sent.floor, sent.count) == (1000, 1002)


def test_no_more_than_the_last_numbers_are_looked_at_again() -> None:
    sent = follower()
    sent.add([row(number) for number in range(1, 100_000, 100)])
    assert sent.floor == 99_901 - Follower.OVERLAP


async def texts(sent: Follower, *, is_over: bool = False) -> list[str]:
    return [line.log async for page in sent.pages(is_over=is_over) for line in page]


@pytest.mark.slow
@pytest.mark.parametrize("is_over", [False, True])
async def test_a_line_that_was_committed_late_is_sent_once(
    pool: Database, at: Clock, is_over: bool
) -> None:
    sent = follower(pool)
    assert await texts(sent) == []
    async with pool.acquire() as late, pool.acquire() as other:
        async with late.transaction():
            await copy_lines(late, [line("late")])
            await copy_lines(other, [line("first")])
            assert await texts(sent) == ["first"]
        await copy_lines(other, [line("second")])
    if is_over:
        assert await texts(sent, is_over=True) == ["late", "second"]
    else:
        assert await texts(sent) == ["second"], "it looks back once a second"
        at.now_s += LOOK_BACK_S
        assert await texts(sent) == ["late"]
    at.now_s += LOOK_BACK_S
    assert await texts(sent, is_over=True) == []


@pytest.mark.slow
async def test_more_late_lines_than_a_page_come_in_order(pool: Database, at: Clock) -> None:
    sent = follower(pool)
    numbers = [str(number) for number in range(PAGE + 500)]
    async with pool.acquire() as late, pool.acquire() as other, late.transaction():
        await copy_lines(late, [line(number) for number in numbers])
        await copy_lines(other, [line("first")])
        assert await texts(sent) == ["first"]
    assert await texts(sent, is_over=True) == numbers


def line(text: str) -> tuple[Any, ...]:
    return ("1.t", None, None, None, None, AT, 3, None, None, text)


@pytest.mark.slow
async def test_nothing_is_kept_of_a_task_that_nobody_follows_any_more(pool: Database) -> None:
    no_policies = cast(LogPolicyMatcher, None)  # looked at when lines are stored
    logs = TaskLogs(pool, [no_policies], searches_in(pool))
    caller = Caller(user_id=1, username="ann")
    pages = [page async for page in logs.follow(caller, ["1.over", "2.over"], LogFilter())]
    assert (pages, logs._news._news) == ([], {})


def row(number: int) -> LogRow:
    return LogRow(
        id=number,
        task_id="1.t",
        allocation_id=None,
        agent_id=None,
        container_id=None,
        rank_id=None,
        logged_at=AT,
        level=3,
        source=None,
        stdtype=None,
        log="",
    )
