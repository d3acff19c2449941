"""What the master makes of an API server that fails: the real one and ours in memory alike.

A suite that uses it gives the fixtures `world` and `server`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, Protocol

import pytest
from tests.contracts.kubernetes_contract import World

from determined_master.ports.agents import NotConnected
from determined_master.ports.orders import PodTerms, StartOrder

LATER = "the server has received too many requests and has asked us to try again later"
CHANGED = "Operation cannot be fulfilled on resourcequotas: the object has been modified"
FAULTS: dict[str, tuple[int, str, str, dict[str, str]]] = {
    "429 for a moment": (429, "TooManyRequests", LATER, {"Retry_After": "0"}),
    "429": (429, "TooManyRequests", LATER, {}),
    "409": (409, "Conflict", CHANGED, {}),
    "500": (500, "InternalError", "an error on the server has prevented the request", {}),
    "503": (503, "ServiceUnavailable", "apiserver is shutting down", {}),
    "etcd": (500, "InternalError", "etcdserver: mvcc: database space exceeded", {}),
}
CALLS = (
    *(("GET", kind) for kind in ("nodes", "pods", "events", "resourcequotas", "limitranges")),
    *(("POST", kind) for kind in ("priorityclasses", "pods", "secrets")),
    *(("GET", "log"), ("PATCH", "pods"), ("DELETE", "pods")),
)


class FailingServer(Protocol):
    """An API server, or what stands before it, that fails when a test asks for it."""

    failures: list[tuple[str, str, Any]]
    """Answers to one call each that are still to come: method, kind (or `log`) and the answer."""

    def fail_once(
        self, method: str, kind: str, code: int, reason: str, message: str, **headers: str
    ) -> None:
        """Answer the next call of that method and kind with a failure."""

    def break_streams(self) -> None:
        """End all watches and logs that are followed."""


async def repeated(work: Callable[[], Awaitable[None]]) -> list[str]:
    """Do it until the cluster takes it, as the master repeats an order; why it was not taken."""
    refused: list[str] = []
    async with asyncio.timeout(60):
        while True:
            try:
                await work()
                return refused
            except NotConnected as error:
                refused.append(str(error))
                await asyncio.sleep(0.05)


async def started(world: World, made: StartOrder) -> list[str]:
    return await repeated(lambda: world.backend.start_container(made))


def warnings(world: World) -> list[str]:
    return [n.text for n in world.events.notes if n.level == "WARNING"]


def refusals(world: World) -> list[str]:
    """Why pods could not be created; a real kubelet warns of other things."""
    return [text for text in warnings(world) if "cannot be created" in text]


def failure_of(world: World, made: StartOrder) -> str:
    failure = world.events.reports[made.container_id].failure
    assert failure is not None
    return failure.message


class FaultsContract:
    """Tests that any cluster passes."""

    @pytest.mark.parametrize("name", FAULTS)
    async def test_a_failure_of_every_call_loses_and_doubles_nothing(
        self, world: World, server: FailingServer, name: str
    ) -> None:
        code, reason, text, headers = FAULTS[name]
        for method, kind in CALLS:
            for _ in range(2):
                server.fail_once(method, kind, code, reason, text, **headers)
        server.break_streams()
        terms = PodTerms(pool="default", priority=61)
        made = world.order("echo up; exec sleep 600", pod=terms)
        await started(world, made)
        await world.until(lambda: world.events.text(made.container_id), "its output")
        assert (await world.count("pods"), await world.count("secrets")) == (1, 1)
        await repeated(
            lambda: world.backend.signal_container(made.agent_id, made.container_id, 9, "a")
        )
        await world.state(made.container_id, "TERMINATED")
        await world.until(lambda: made.container_id in world.events.closed, "the last line")
        assert world.events.text(made.container_id) == ["up"]
        await world.backend.forget_container(made.agent_id, made.container_id)
        await world.is_clean()
        assert world.events.lost == []
        assert len(refusals(world)) <= 1
        left = [(method, kind) for method, kind, _ in server.failures]
        assert [call for call in left if call[0] != "GET"] == []

    async def test_a_request_is_repeated_when_the_server_asks_for_it(
        self, world: World, server: FailingServer
    ) -> None:
        for _ in range(3):
            server.fail_once("POST", "pods", 429, "TooManyRequests", LATER, Retry_After="0")
        made = world.order("true")
        await world.backend.start_container(made)
        await world.state(made.container_id, "TERMINATED")
        assert refusals(world) == []
