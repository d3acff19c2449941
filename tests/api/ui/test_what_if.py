"""What-if: a recorded queue under other rules, side by side."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from msgspec.structs import replace
from tests.api.client import Client
from tests.api.hidden import ok
from tests.domain.builders import T0, agent, holding, pending

from determined_master import clock
from determined_master.domain.schedule.planner import plan
from determined_master.domain.schedule.view import PoolView
from determined_master.pools.loop import PoolDecision
from determined_master.pools.recorder import Recorder
from determined_master.services.catalog import Services
from determined_master.services.queue import what_if
from determined_master.store.db import Database

pytestmark = pytest.mark.slow
PATH = "/api/ui/v1/pools/default/what-if"
VARIANTS = [{"policy": "fair_share"}, {"agents": "2x4"}]


async def record(pool: Database) -> None:
    """An hour ago one task of 4 slots waited for another: 20 s, on one agent of 4."""
    shift = clock.now() - timedelta(hours=1) - T0
    first, second = (
        replace(one, submitted_at=one.submitted_at + shift, requested_at=one.requested_at + shift)
        for one in (pending("f.1", 4), pending("s.1", 4, after_s=1))
    )
    recorder = Recorder(pool)
    runs, then = holding("f.1", ("a", 4)), holding("s.1", ("a", 4))
    for after_s, waiting, running, free in (
        (0, [first], [], 4),
        (2, [second], [runs], 0),
        (30, [second], [], 4),
        (31, [], [then], 0),
        (51, [], [], 4),
    ):
        view = PoolView(
            pool="default",
            agents=(agent("a", 4, free=free),),
            pending=tuple(waiting),
            running=tuple(replace(one, submitted_at=one.submitted_at + shift) for one in running),
            now=T0 + shift + timedelta(seconds=after_s),
        )
        recorder.note(PoolDecision(view, plan(view)))
    await recorder.flush()


async def test_each_variant_stands_beside_the_record(admin: Client, pool: Database) -> None:
    await record(pool)
    found = await ok(admin, "POST", PATH, {"variants": VARIANTS})
    assert (found["pool"], found["tasks"], found["agents"]) == ("default", 2, "1 x 4 slots")
    was, fair, more = found["outcomes"]
    assert (was["policy"], fair["policy"], more["policy"]) == (
        "(as it was)",
        "fair_share",
        "recorded",
    )
    assert was["waitMaxS"] == pytest.approx(29, abs=2)
    assert fair["waitMaxS"] > 20
    assert (more["agents"], more["waitMaxS"]) == ("2 x 4 slots", 0)
    assert (more["tasks"], more["ended"], more["error"]) == (2, 2, "")
    assert 0 < more["utilisation"] < fair["utilisation"] <= 1


async def test_a_simulation_that_takes_too_long_says_so(
    admin: Client, pool: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    await record(pool)
    monkeypatch.setattr(what_if, "VARIANT_S", -1.0)
    found = await ok(admin, "POST", PATH, {"variants": [{}]})
    assert "ask for fewer hours" in found["outcomes"][1]["error"]
    monkeypatch.setattr(what_if, "READ_S", -1.0)
    answer = await admin("POST", PATH, {"variants": [{}]})
    assert (answer.status, "too long to be read" in answer.text) == (400, True)


async def test_one_runs_at_a_time(admin: Client, services: Services, pool: Database) -> None:
    await record(pool)
    services[what_if.WhatIf]._is_busy = True
    answer = await admin("POST", PATH, {"variants": [{}]})
    assert (answer.status, "another simulation" in answer.text) == (429, True)


@pytest.mark.parametrize(
    ("path", "body", "status", "text"),
    [
        (PATH, {"variants": [{}]}, 404, "nothing to simulate"),
        (PATH.replace("default", "none"), {"variants": [{}]}, 404, "cannot find resource pool"),
        (PATH, {}, 400, "variants has 0"),
        (PATH, {"variants": [{}] * 7}, 400, "variants has 7"),
        (PATH, {"variants": [{}], "hours": 169}, 400, "hours is 169"),
        (PATH, {"variants": [{"policy": "luck"}]}, 400, "'luck' is none of"),
        (PATH, {"variants": [{"agents": "9x9999"}]}, 400, "at most 2000 agents of 128 slots"),
        (PATH, {"variants": [{"agents": "4"}]}, 400, "the form is COUNTxSLOTS"),
        (PATH, {"variants": [{"policy": "x" * 201}]}, 400, "at most 200 characters"),
    ],
)
async def test_values_are_checked(
    admin: Client, path: str, body: dict[str, Any], status: int, text: str
) -> None:
    answer = await admin("POST", path, body)
    assert (answer.status, text in answer.text) == (status, True), answer.text


async def test_only_admins_may_simulate(user: Client) -> None:
    answer = await user("POST", PATH, {"variants": [{}]})
    assert (answer.status, "only admins" in answer.text) == (403, True)
