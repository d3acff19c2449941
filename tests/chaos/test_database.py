"""The simulated database does what the engine relies on, as PostgreSQL does."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random
from typing import Any, cast
from unittest.mock import patch

import pytest
from tests.chaos import engine_statements  # noqa: F401  registers what it answers
from tests.chaos.loop import PROCESS, Process
from tests.chaos.server import Server, SimPool
from tests.contracts.database_contract import COUNT, DatabaseContract
from tests.engine.conftest import QUICK

import determined_master.engine.leadership.leader
from determined_master.engine import Engine


class Simulated:
    """A server for one test, in real time: what it does is the same as in simulated time."""

    def __init__(self) -> None:
        self.server = Server(Random(1))
        self.defects: list[str] = []
        self.server.on_defect = self.defects.append
        self._process = Process("master", cast(Any, None))

    async def connect(self) -> Any:
        PROCESS.set(self._process)
        return self.server.connect()

    def engine(self) -> Engine:
        PROCESS.set(self._process)
        pool = cast(Any, SimPool(self.server))
        nowhere = cast(Any, None)
        return Engine(nowhere, pool, [COUNT], settings=QUICK, connect=self.connect)

    def lose_next_answer(self) -> None:
        self.server.lost_answers = 1


@pytest.fixture
def store() -> Iterator[Simulated]:
    made = Simulated()

    async def connect(_: Any) -> Any:
        return await made.connect()

    with patch.object(determined_master.engine.leadership.leader, "connect", connect):
        yield made
    made.server.cut_all()
    assert made.defects == []


class TestSimulated(DatabaseContract):
    """The one of `make chaos`."""
