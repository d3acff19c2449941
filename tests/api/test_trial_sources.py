"""What trials say that they work from, and what they found out about it."""

from __future__ import annotations

from typing import Any

from tests.api.client import Client
from tests.store.rows import STARTED, add_experiment, add_trial

from determined_master import entropy
from determined_master.store.db import Database

PREFIX = "TRIAL_SOURCE_INFO_TYPE_"


async def add_checkpoint(pool: Database) -> str:
    uuid = str(entropy.new_uuid())
    query = "INSERT INTO checkpoints (uuid, state, reported_at) VALUES ($1, 'COMPLETED', $2)"
    await pool.execute(query, uuid, STARTED)
    return uuid


async def add_report(pool: Database, trial: int, group: str, loss: float) -> None:
    query = """
        INSERT INTO metrics (trial_id, metric_group, steps, run_id, reported_at, metrics)
        VALUES ($1, $2, 1, 0, $3, $4)
    """
    await pool.execute(query, trial, group, STARTED, {"loss": loss})


def info(trial: int, uuid: str, type_: str = "INFERENCE") -> dict[str, Any]:
    said = {"trialId": trial, "checkpointUuid": uuid, "trialSourceInfoType": f"{PREFIX}{type_}"}
    return {"trialSourceInfo": said}


async def found(client: Client, uuid: str, query: str = "") -> list[tuple[int, str, float]]:
    answer = await client("GET", f"/api/v1/checkpoints/{uuid}/metrics{query}")
    assert answer.status == 200, answer.body
    rows = answer.json()["metrics"]
    return [(r["trialId"], r["group"], next(iter(r["metrics"].values()))["loss"]) for r in rows]


async def test_metrics_of_a_checkpoint_are_those_of_the_trials_that_work_from_it(
    admin: Client, pool: Database
) -> None:
    uuid, other = await add_checkpoint(pool), await add_checkpoint(pool)
    experiment = await add_experiment(pool, 1)
    judge, tuner, stranger = [await add_trial(pool, experiment) for _ in range(3)]
    for trial in (judge, tuner, stranger):
        await add_report(pool, trial, "validation", trial / 2)
        await add_report(pool, trial, "inference", trial / 4)
    for trial, source, type_ in (
        (judge, uuid, "INFERENCE"),
        (judge, uuid, "INFERENCE"),
        (tuner, uuid, "FINE_TUNING"),
        (stranger, other, "INFERENCE"),
    ):
        answer = await admin("POST", "/api/v1/trial-source-info", info(trial, source, type_))
        assert answer.json() == {"trialId": trial, "checkpointUuid": source}
    both = [
        (t, g, t / d) for t in (judge, tuner) for g, d in (("validation", 2), ("inference", 4))
    ]
    assert await found(admin, uuid) == both
    assert await found(admin, uuid, f"?trialSourceInfoType={PREFIX}FINE_TUNING") == both[2:]
    assert await found(admin, uuid, "?metricGroup=validation") == [both[0], both[2]]


async def test_a_source_needs_a_trial_a_checkpoint_and_a_type(
    admin: Client, pool: Database
) -> None:
    uuid = await add_checkpoint(pool)
    trial = await add_trial(pool, await add_experiment(pool, 1))
    unknown = str(entropy.new_uuid())
    for body, status in (
        (info(trial, uuid, "UNSPECIFIED"), 400),
        (info(9999, uuid), 404),
        (info(trial, unknown), 404),
        ({}, 400),
    ):
        assert (await admin("POST", "/api/v1/trial-source-info", body)).status == status
    assert (await admin("GET", f"/api/v1/checkpoints/{unknown}/metrics")).status == 404
