"""Lists that are made some items at a time: their order, and that others get their turn."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

import msgspec
import pytest
from tests.api.client import Client
from tests.store.rows import STARTED, add_experiment, add_trial, end_trial

from determined_master import entropy
from determined_master.api.experiments.trials import TRIALS_AT_ONCE
from determined_master.api.http import long_lists
from determined_master.api.http.long_lists import FIRST, written
from determined_master.api.http.protojson import encode, ready
from determined_master.domain.errors import InvalidArgument
from determined_master.store.db import Database
from determined_wire.rest.experiments import (
    GetExperimentTrialsRequestSortBy,
    GetExperimentTrialsResponse,
)
from determined_wire.rest.types.trial import Trial


async def test_a_long_list_lets_others_run_between_its_parts() -> None:
    turns: list[int] = []

    async def others() -> None:
        for _ in range(100):
            turns.append(len(asked))
            await asyncio.sleep(0)

    asked: list[Sequence[int]] = []

    async def some(ids: Sequence[int]) -> list[Trial]:
        asked.append(ids)
        return [Trial(id=i) if i < 6 else ready(Trial, b'{"id":%d}' % i) for i in ids if i != 4]

    running = asyncio.create_task(others())
    made = await written(Trial, range(1, FIRST + 4), 200, some)
    running.cancel()
    assert [list(ids) for ids in asked] == [[*range(1, FIRST + 1)], [9, 10, 11]]
    assert 1 in turns, "nobody had a turn between two parts"
    text = msgspec.json.decode(encode(GetExperimentTrialsResponse(trials=made, pagination=None)))
    assert [trial["id"] for trial in text["trials"]] == [1, 2, 3, *range(5, FIRST + 4)]


async def test_the_size_of_items_decides_how_many_are_made_at_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def counts(size: int) -> list[int]:
        asked: list[int] = []

        async def some(ids: Sequence[int]) -> list[Trial]:
            asked.append(len(ids))
            return [ready(Trial, b'{"x":"%b"}' % (b"a" * size)) for _ in ids]

        await written(Trial, range(FIRST + TRIALS_AT_ONCE + 1), TRIALS_AT_ONCE, some)
        return asked

    assert await counts(10) == [FIRST, TRIALS_AT_ONCE, 1]
    large = await counts(long_lists.PART_BYTES)
    assert large == [FIRST, *[1] * (TRIALS_AT_ONCE + 1)]
    monkeypatch.setattr(long_lists, "MAX_BYTES", FIRST * long_lists.PART_BYTES)
    refusal = (
        f"the first {FIRST} of {FIRST + TRIALS_AT_ONCE + 1} items have .* with limit and offset"
    )
    with pytest.raises(InvalidArgument, match=refusal):
        await counts(long_lists.PART_BYTES)


async def listed(client: Client, path: str, name: str = "trials") -> list[dict[str, Any]]:
    answer = await client("GET", f"/api/v1/{path}")
    assert answer.status == 200, answer.body
    found: list[dict[str, Any]] = answer.json()[name]
    return found


@pytest.mark.slow
async def test_trials_come_in_the_order_that_is_asked_for(admin: Client, pool: Database) -> None:
    experiment = await add_experiment(pool, 1)
    columns: list[dict[str, Any]] = [
        {"total_batches": 5, "best_metric": 0.5, "searcher_metric": 3.0, "state": "PAUSED"},
        {"total_batches": 7, "best_metric": None, "searcher_metric": 1.0, "restarts": 2},
        {"total_batches": 5, "best_metric": 0.25, "searcher_metric": 2.0, "state": "ERROR"},
        {"total_batches": 6, "best_metric": 0.75, "checkpoint_size": 9, "restarts": 1},
    ]
    ids = [await add_trial(pool, experiment, **given) for given in columns]
    await end_trial(pool, ids[2])
    orders = {
        "ID": [0, 1, 2, 3],
        "BATCHES_PROCESSED": [0, 2, 3, 1],
        "BEST_VALIDATION_METRIC": [2, 0, 3, 1],
        "LATEST_VALIDATION_METRIC": [1, 2, 0, 3],
        "RESTARTS": [0, 2, 3, 1],
        "CHECKPOINT_SIZE": [0, 1, 2, 3],
        "END_TIME": [2, 0, 1, 3],
        "LOG_RETENTION_DAYS": [0, 1, 2, 3],
        "STATE": [2, 0, 1, 3],  # COMPLETED, PAUSED, and ACTIVE ones are shown as QUEUED
    }
    path = f"experiments/{experiment}/trials?limit=-1&sortBy=SORT_BY_"
    for name, order in orders.items():
        assert GetExperimentTrialsRequestSortBy[f"SORT_BY_{name}"]
        assert [t["id"] for t in await listed(admin, path + name)] == [ids[i] for i in order], name
    newest = await listed(admin, path + "BATCHES_PROCESSED&orderBy=ORDER_BY_DESC")
    assert [t["id"] for t in newest] == [ids[i] for i in (1, 3, 0, 2)], "equal ones go by id"
    last = await listed(admin, path + "UNSPECIFIED&orderBy=ORDER_BY_DESC&states=STATE_QUEUED")
    assert [t["id"] for t in last] == [ids[3], ids[1]]
    paused = await listed(admin, path + "ID&states=STATE_PAUSED&states=STATE_COMPLETED")
    assert [t["id"] for t in paused] == [ids[0], ids[2]]


@pytest.mark.slow
async def test_a_list_of_several_parts_is_whole(admin: Client, pool: Database) -> None:
    experiment = await add_experiment(pool, 1)
    count = FIRST + TRIALS_AT_ONCE + 1
    ids = [await add_trial(pool, experiment) for _ in range(count)]
    every = await listed(admin, f"experiments/{experiment}/trials?limit=-1")
    assert [t["id"] for t in every] == ids
    page = await listed(admin, f"experiments/{experiment}/trials?limit=5&offset=-7")
    assert [t["id"] for t in page] == ids[-7:-2]


@pytest.mark.slow
async def test_workloads_come_by_steps_and_time_whatever_they_are(
    admin: Client, pool: Database
) -> None:
    experiment = await add_experiment(pool, 1)
    trial = await add_trial(pool, experiment)
    report = """
        INSERT INTO metrics (trial_id, metric_group, steps, run_id, reported_at, metrics, archived)
        VALUES ($1, $2, $3, 0, $4, $5, $6)
    """
    for group, steps, archived in (
        ("training", 1, False),
        ("validation", 1, False),
        ("validation", 3, False),
        ("training", 2, False),
        ("own group", 2, False),
        ("validation", 4, True),
    ):
        await pool.execute(report, trial, group, steps, STARTED, {"loss": steps}, archived)
    saved = """
        INSERT INTO checkpoints (uuid, trial_id, experiment_id, state, reported_at, steps)
        VALUES ($1, $2, $3, 'COMPLETED', $4, $5)
    """
    for steps in (3, 1):
        await pool.execute(saved, entropy.new_uuid(), trial, experiment, STARTED, steps)

    async def works(query: str = "") -> list[str]:
        found = await listed(admin, f"trials/{trial}/workloads?{query}", "workloads")
        return [
            f"{kind} {work['totalBatches']}"
            for each in found
            for kind, work in each.items()
            if work is not None
        ]

    up = ["training 1", "validation 1", "checkpoint 1", "training 2", "validation 3",
          "checkpoint 3"]  # fmt: skip
    down = ["validation 3", "checkpoint 3", "training 2", "training 1", "validation 1",
            "checkpoint 1"]  # fmt: skip
    assert await works() == up
    assert await works("orderBy=ORDER_BY_DESC") == down
    assert await works("offset=2&limit=2") == up[2:4]
    assert await works("filter=FILTER_OPTION_CHECKPOINT") == ["checkpoint 1", "checkpoint 3"]
    assert await works("filter=FILTER_OPTION_VALIDATION") == ["validation 1", "validation 3"]
    some = await works("filter=FILTER_OPTION_CHECKPOINT_OR_VALIDATION")
    assert some == [work for work in up if "training" not in work]


@pytest.mark.slow
async def test_checkpoints_come_in_the_order_that_is_asked_for(
    admin: Client, pool: Database
) -> None:
    experiment = await add_experiment(pool, 1)
    trial = await add_trial(pool, experiment)
    saved = """
        INSERT INTO checkpoints (uuid, trial_id, experiment_id, state, reported_at, steps)
        VALUES ($1, $2, $3, $4, $5, $6) RETURNING uuid::text
    """
    uuids = sorted(str(entropy.new_uuid()) for _ in range(3))
    for uuid, steps, state in zip(
        uuids, (2, 3, 1), ("COMPLETED", "ERROR", "DELETED"), strict=True
    ):
        await pool.execute(saved, uuid, trial, experiment, state, STARTED, steps)
    for steps, loss in ((1, 0.5), (2, 0.1)):
        await pool.execute(
            "INSERT INTO metrics (trial_id, metric_group, steps, run_id, reported_at, metrics,"
            " searcher_metric) VALUES ($1, 'validation', $2, 0, $3, $4, $5)",
            *(trial, steps, STARTED, {"loss": loss, "acc": 1 - loss}, loss),
        )

    async def order(path: str) -> list[int]:
        found = await listed(admin, path, "checkpoints")
        return [uuids.index(each["uuid"]) for each in found]

    of_trial, of_experiment = (f"{k}s/{i}/checkpoints?" for k, i in
                               (("trial", trial), ("experiment", experiment)))  # fmt: skip
    assert await order(of_trial) == [2, 0, 1], "by steps"
    assert await order(of_experiment) == [0, 1, 2], "by UUID"
    assert await order(f"{of_trial}sortByAttr=SORT_BY_SEARCHER_METRIC") == [0, 2, 1]
    assert await order(f"{of_experiment}sortByMetric=acc") == [2, 0, 1]
    assert await order(f"{of_experiment}sortByAttr=SORT_BY_STATE&orderBy=ORDER_BY_DESC") == [
        1,
        2,
        0,
    ]
    assert await order(f"{of_experiment}states=STATE_ERROR&states=STATE_DELETED&limit=1") == [1]
