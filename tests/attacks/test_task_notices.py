"""A program writes the marks of notices itself: about itself, and within bounds."""

from __future__ import annotations

import json

import pytest
from tests.api.samples import World
from tests.attacks.test_machines import reports, running

from determined.common import _task_notice
from determined_master.services.cluster import task_notices
from determined_wire.agent_link import LogBatch, LogSpan

pytestmark = [pytest.mark.slow, pytest.mark.asyncio(loop_scope="module")]


def batch(names: dict[str, str], first_seq: int, *lines: tuple[str, str]) -> LogBatch:
    """Lines with the marks of their kinds."""
    text = "\n".join(f"{_task_notice.MARK.format(kind=kind)}{words}" for kind, words in lines)
    return LogBatch(
        names["container_id"],
        names["allocation_id"],
        names["task_id"],
        first_seq,
        text,
        (LogSpan(len(lines), 1_700_000_000_000_000),),
    )


async def why(world: World, names: dict[str, str]) -> str:
    answer = await world.clients["admin"]("GET", f"/api/v1/job-queues/{names['task_id']}/why")
    return str(json.loads(answer.body)["text"])


async def story(world: World, names: dict[str, str]) -> list[str]:
    path = f"/api/v1/allocations/{names['allocation_id']}/story?limit=1000"
    answer = await world.clients["admin"]("GET", path)
    return [line["text"] for line in json.loads(answer.body)["lines"]]


async def test_a_task_without_the_master_is_named_by_why_and_story_until_it_reaches_it(
    world: World,
) -> None:
    names = await running(world)
    sender = reports(world)
    text = "no answer from the master at http://m through the proxy p: 502; trying until T"
    await sender.store_logs("a1", batch(names, 1, ("master_away", text)))
    await sender.store_logs("a1", batch(names, 1, ("master_away", text)))  # sent again
    assert (await why(world, names)).endswith(f"on agent a1: {text}")
    logs = await world.clients["admin"]("GET", f"/api/v1/tasks/{names['task_id']}/logs?limit=9")
    assert text.encode() in logs.body
    assert b"7337" not in logs.body, "the mark is not shown"
    await sender.store_logs("a1", batch(names, 2, ("master_back", "the master answers again")))
    assert text not in await why(world, names)
    await sender.store_logs("a1", batch(names, 3, ("main_thread_ended", "waits for loader")))
    assert (await why(world, names)).endswith("on agent a1: waits for loader")
    lines = await story(world, names)
    for event in ("master unreachable", "master reached", "main thread ended"):
        assert len([line for line in lines if event in line]) == 1, event
    assert any(text in line for line in lines)


async def test_marks_without_end_write_a_bounded_number_of_events(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(task_notices, "MAX_NOTICES", 5)
    names = await running(world)
    sender = reports(world)
    for seq in range(1, 41, 2):
        await sender.store_logs("a1", batch(names, seq, ("master_away", f"no answer {seq}")))
        await sender.store_logs("a1", batch(names, seq + 1, ("master_back", "again")))
    lines = await story(world, names)
    assert len([line for line in lines if "master unreachable" in line]) < 5
    assert "no answer" not in await why(world, names)


async def test_a_task_reports_nothing_of_another(world: World) -> None:
    names, other = await running(world), await running(world)
    forged = {**other, "container_id": names["container_id"]}
    await reports(world).store_logs("a1", batch(forged, 1, ("master_away", "forged")))
    assert "forged" not in await why(world, other)
    assert "forged" not in await why(world, names)
