"""Cases of the master's own log, pools, workspaces, and of downloads."""

from __future__ import annotations

import logging

from tests.api.cases_experiments import finished, named, running, until
from tests.api.samples import Case, World

from determined_master import entropy
from determined_master.server.logs import RECENT


async def two_warnings(world: World) -> None:
    """A log that begins with two lines."""
    RECENT.entries.clear()
    RECENT._next = 0
    for text in ("one", "two"):
        RECENT.handle(logging.makeLogRecord({"msg": text, "levelno": 30, "levelname": "WARNING"}))


async def labelled(world: World) -> None:
    """An experiment with two labels; `<project_id>` and `<workspace_id>` are its parents."""
    await finished(world)
    world.names |= {"project_id": "1", "workspace_id": "1"}


async def without_message(world: World) -> None:
    """No message for the cluster."""
    await world.clients["admin"]("DELETE", "/api/v1/master/cluster_message")


async def with_message(world: World) -> None:
    """A message with an end."""
    body = {"message": "hello", "duration": "1h"}
    answer = await world.clients["admin"]("PUT", "/api/v1/master/cluster_message", body)
    assert answer.status == 200, answer.body


async def with_files(world: World) -> None:
    """An experiment with a script and a directory with a file."""
    await finished(world)
    admin = world.clients["admin"]
    file = {"type": 48, "content": "aGk=", "mtime": "1700000000", "mode": 33188}
    config = "{entrypoint: x, searcher: {name: single, metric: loss}}"
    files = [
        {"path": "train.py", **file},
        {"path": "sub", **file, "type": 53, "content": ""},
        {"path": "sub/a.txt", **file},
    ]
    body = {"config": config, "modelDefinition": files, "activate": False}
    answer = await admin("POST", "/api/v1/experiments", body)
    world.names["experiment_id"] = world.names["int"] = str(answer.json()["experiment"]["id"])


async def a_task(world: World) -> None:
    """A task by its UUID-like id."""
    await finished(world)
    world.names["uuid"] = world.names["task_id"]


async def running_alone(world: World) -> None:
    """A running experiment in a queue that no task of another kind is in."""
    admin = world.clients["admin"]
    path = "/api/v1/job-queues-v2?resourcePool=default"
    jobs = (await admin("GET", path)).json()["jobs"]
    others = [j["full"] for j in jobs if j["full"]["type"] == "TYPE_GENERIC"]
    for job in others:
        answer = await admin("POST", f"/api/v1/tasks/{job['entityId']}/kill", {})
        assert answer.status == 200, answer.body
    await until(
        admin,
        path,
        lambda got: all(j["full"]["type"] == "TYPE_EXPERIMENT" for j in got["jobs"]),
    )
    await running(world)


CASES: dict[str, Case] = {
    "master.logs": Case(two_warnings),
    "master.telemetry": Case(
        status=401, free=frozenset({"*"}), why="only a web interface with telemetry needs it"
    ),
    "experiments.labels": Case(labelled),
    "plain.model_def": Case(finished),
    "plain.checkpoint.404": Case(named(uuid=str(entropy.new_uuid()))),
    "ser.bad_timestamp": Case(phrase="bad Timestamp: 'yesterday'"),
    "message.get.none": Case(without_message),
    "message.get": Case(with_message),
    "message.long": Case(request={"message": "h" * 300}),
    "experiments.file_tree": Case(with_files),
    "experiments.file": Case(with_files),
    "experiments.file.missing": Case(with_files, phrase="file does not exist"),
    "plain.file": Case(with_files),
    "generic.config": Case(a_task),
    "trials.retention": Case(finished),
    "pools.list": Case(
        free=frozenset({"resourcePools[].details.priorityScheduler"}),
        why="the observed pool shared its slots fairly, ours goes by priority",
    ),
    "jobs.v2": Case(running_alone),
    "jobs.v2.again": Case(
        running_alone,
        free=frozenset({"jobs[].full.entityId"}),
        why="the observed job was a command's",
    ),
}
