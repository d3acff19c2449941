"""A database that refuses some writes, and what the log says of it."""

from __future__ import annotations

import asyncio

import pytest

NO_SUCH_REFERENCE = "23503"
DISK_FULL = "53100"


def refusing_updates(code: str, when: str = "true") -> str:
    """The trigger `refusing`, by which a tally's row cannot be changed.

    Args:
        code: the SQLSTATE of the refusal.
        when: an SQL condition on `old` and `new`.
    """
    return f"""
        CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$
            BEGIN RAISE EXCEPTION 'refused' USING ERRCODE = '{code}'; END $$;
        CREATE TRIGGER refusing BEFORE UPDATE ON tallies
            FOR EACH ROW WHEN ({when}) EXECUTE FUNCTION refuse();
    """


def told(caplog: pytest.LogCaptureFixture, words: str) -> int:
    """How often the log says so."""
    return sum(record.message == words for record in caplog.records)


async def until_told(caplog: pytest.LogCaptureFixture, words: str, times: int = 1) -> None:
    """Wait until the log says so that often."""
    async with asyncio.timeout(60):
        while told(caplog, words) < times:  # noqa: ASYNC110
            await asyncio.sleep(0.005)
