"""Costly requests of one user wait for each other, and for nobody else."""

from __future__ import annotations

import asyncio

import pytest

from determined_master.api.http import turns
from determined_master.api.http.turns import AT_ONCE, RequestTurns
from determined_master.api.table import all_routes
from determined_master.domain.errors import ResourceExhausted

ANN, BOB = 1, 2
COSTLY = {"config", "override_config", "model_definition", "files", "context_directory"}
COSTLY |= {"invariant_config", "constraints", "template", "create_experiment_request"}


class Requests:
    """Requests that hold their turn until they are let go."""

    def __init__(self) -> None:
        self.turns = RequestTurns()
        self.running: list[int] = []
        self.tasks: list[asyncio.Task[None]] = []
        self.go = asyncio.Event()

    async def send(self, user_id: int, count: int) -> None:
        self.tasks += [asyncio.create_task(self._one(user_id)) for _ in range(count)]
        for _ in range(5):
            await asyncio.sleep(0)

    async def _one(self, user_id: int) -> None:
        async with self.turns.take(user_id):
            self.running.append(user_id)
            await self.go.wait()
            self.running.remove(user_id)


async def test_those_of_one_user_wait_and_those_of_another_do_not() -> None:
    requests = Requests()
    await requests.send(ANN, 10)
    await requests.send(BOB, 1)
    assert requests.running == [ANN] * AT_ONCE + [BOB]
    requests.go.set()
    await asyncio.gather(*requests.tasks)
    assert requests.turns._slots._slots == {}


async def test_only_so_many_of_a_user_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(turns, "MAX_WAITING", 3)
    requests = Requests()
    await requests.send(ANN, AT_ONCE + 3)
    with pytest.raises(ResourceExhausted, match="3 of your large requests wait for their turn"):
        async with requests.turns.take(ANN):
            pass
    async with requests.turns.take(BOB):
        pass
    requests.go.set()
    await asyncio.gather(*requests.tasks)


async def test_a_request_that_ends_while_it_waits_gives_its_place_back() -> None:
    requests = Requests()
    await requests.send(ANN, AT_ONCE + 1)
    requests.tasks.pop().cancel()
    await asyncio.sleep(0)
    assert requests.turns._slots.count(ANN) == AT_ONCE
    requests.go.set()
    await asyncio.gather(*requests.tasks)
    assert requests.turns._slots._slots == {}


def test_all_routes_that_take_configurations_or_files_let_a_users_requests_wait() -> None:
    wrong = [
        f"{route.method} {route.path}"
        for route in all_routes()
        if route.method in ("POST", "PUT", "PATCH") and route.request is not None
        if not COSTLY.isdisjoint(route.request.__struct_fields__) and not route.is_submission
    ]
    assert wrong == []


def test_no_request_that_waits_for_others_of_its_user_takes_a_turn() -> None:
    for route in all_routes():
        if route.path.endswith(("/all_gather", "/rendezvous", "/signals/preemption")):
            assert not route.is_submission
            assert not route.has_large_body
