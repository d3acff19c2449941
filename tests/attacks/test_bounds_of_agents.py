"""Finding N12: ids, brands and frames of an agent have no bounds; one NUL stops a whole sweep."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

import msgspec
import pytest
import pytest_asyncio
from tests.agent_link import Listener, OpenDoor, Recorder, identity, listening
from websockets.asyncio.client import ClientConnection, connect

from determined_master.backends.agents.backend import AgentBackend
from determined_wire.agent_link import (
    MAX_MESSAGE,
    ContainerChanged,
    ContainerReport,
    Failure,
    FromAgent,
    FromMaster,
    Refused,
    Welcome,
)

pytestmark = [pytest.mark.slow, pytest.mark.asyncio(loop_scope="module")]
HELLO: dict[str, Any] = {
    "kind": "hello",
    "protocol": 1,
    "agent_id": "a1",
    "boot_id": "b",
    "version": "0",
    "resource_pool": "default",
    "hostname": "h",
    "devices": [{"id": 0, "brand": "b", "uuid": "u", "type": "cpu"}],
}
REPORT = {"container_id": "c", "allocation_id": "a", "state": "RUNNING"}
CHANGE = {"kind": "container_changed", "number": 1, "report": REPORT}
LINES = {
    "kind": "log_batch",
    "container_id": "c",
    "allocation_id": "a",
    "task_id": "t",
    "first_seq": 1,
    "text": "x",
    "spans": [[1, 1]],
}
EVIL = ("\0", "a\nb", "\x1b[2J", "\u2028", "x" * 256)
NUMBERS = (-1, 2**63, 10**400)


def changed(frame: dict[str, Any], path: str, value: Any) -> dict[str, Any]:
    """A copy of a frame with another value at a path such as `report.container_id`."""
    copy: Any = json.loads(json.dumps(frame))
    *parents, last = [int(part) if part.isdigit() else part for part in path.split(".")]
    place = copy
    for part in parents:
        place = place[part]
    place[last] = value
    return copy  # type: ignore[no-any-return]


TEXTS = [
    *((HELLO, key) for key in ("agent_id", "boot_id", "version", "resource_pool", "hostname")),
    *((HELLO, key) for key in ("runtime", "cluster_id", "address", "account")),
    *((HELLO, f"devices.0.{key}") for key in ("brand", "uuid")),
    *((CHANGE, f"report.{key}") for key in ("container_id", "allocation_id")),
    *((LINES, key) for key in ("container_id", "allocation_id", "task_id")),
]
COUNTS = [
    *((HELLO, key) for key in ("acknowledged_epoch", "acknowledged", "sent_at_us")),
    *((CHANGE, "number"), (LINES, "first_seq"), (LINES, "spans.0.0"), (LINES, "spans.0.1")),
]


@pytest.mark.parametrize(("frame", "path"), TEXTS, ids=lambda value: value if value else "")
async def test_ids_and_names_are_short_and_of_one_line(frame: dict[str, Any], path: str) -> None:
    for text in EVIL:
        with pytest.raises(msgspec.ValidationError):
            decoded(changed(frame, path, text))
    decoded(changed(frame, path, "gpu-7 (rack 3) é"))


@pytest.mark.parametrize(("frame", "path"), COUNTS, ids=lambda value: value if value else "")
async def test_numbers_fit_into_those_of_the_database(frame: dict[str, Any], path: str) -> None:
    for number in NUMBERS:
        with pytest.raises(msgspec.ValidationError):
            decoded(changed(frame, path, number))


def decoded(frame: dict[str, Any]) -> FromAgent:
    message: FromAgent = msgspec.json.decode(json.dumps(frame), type=FromAgent)
    return message


async def test_a_failure_is_cut_and_keeps_no_nul() -> None:
    for text in ("\0" * 3, "é" * (MAX_MESSAGE + 1), "\0" * MAX_MESSAGE):
        made = Failure("task_error", text)
        assert "\0" not in made.message
        report = ContainerReport("c", "a", "TERMINATED", made)
        sent = msgspec.json.encode(ContainerChanged(1, report))
        assert msgspec.json.decode(sent, type=FromAgent) == ContainerChanged(1, report)
    raw = changed(CHANGE, "report.failure", {"type": "task_error", "message": "a\0b"})
    message = decoded(raw)
    assert isinstance(message, ContainerChanged)
    assert message.report.failure is not None
    assert message.report.failure.message == "a\N{REPLACEMENT CHARACTER}b"


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def listener() -> AsyncIterator[Listener]:
    async with listening() as made:
        made.backend = AgentBackend(identity(), Recorder(), OpenDoor())
        made.backend.open({}, 1)
        yield made


def at(listener: Listener) -> connect:
    return connect(f"ws://127.0.0.1:{listener.port}/agents", proxy=None)


async def answer(link: ClientConnection) -> FromMaster:
    async with asyncio.timeout(60):
        while True:
            message: FromMaster = msgspec.json.decode(await link.recv(), type=FromMaster)
            if isinstance(message, Welcome | Refused):
                return message


@pytest.mark.parametrize(
    "frame",
    [
        b'{"kind":"hello","agent_id":' + b"[" * 200_000,
        b'{"kind":"hello","x":' + b'{"a":' * 200_000,
        b"[" * 2_000_000,
        b'{"kind":"hello","agent_id":"' + b"x" * (3 * 1024**2) + b'"}',
        msgspec.json.encode(changed(HELLO, "agent_id", "a\0b")),
        b"\xff\xfe",
        b"1" * 5000,
    ],
    ids=["deep list", "deep unknown", "lists", "large", "nul", "no text", "digits"],
)
async def test_a_hello_that_is_none_is_refused_in_words(
    listener: Listener, frame: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    async with at(listener) as link:
        await link.send(frame)
        refused = await answer(link)
    assert isinstance(refused, Refused)
    assert len(refused.reason) < 1000
    assert not [record for record in caplog.records if record.exc_info]


async def test_a_deep_frame_of_a_joined_agent_ends_its_connection_alone(
    listener: Listener, caplog: pytest.LogCaptureFixture
) -> None:
    async with at(listener) as other, at(listener) as link:
        await other.send(msgspec.json.encode(changed(HELLO, "agent_id", "a2")))
        assert isinstance(await answer(other), Welcome)
        await link.send(msgspec.json.encode(HELLO))
        assert isinstance(await answer(link), Welcome)
        await link.send(b'{"kind":"pong","x":' + b"[" * 200_000)
        refused = await answer(link)
        assert isinstance(refused, Refused)
        assert not refused.is_final
        assert listener.backend is not None
        here = {a.id: a.is_connected for a in listener.backend.agents()}
        assert here["a2"]
    assert not [record for record in caplog.records if record.exc_info]
