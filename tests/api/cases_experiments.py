"""Cases of experiments, trials, tasks, logs, metrics and checkpoints."""

from __future__ import annotations

import asyncio
import base64
from collections.abc import Awaitable, Callable
from typing import Any

from tests.api.client import Client
from tests.api.samples import Case, World

from determined_master import entropy
from determined_master.aggregates.allocations import ALLOCATION
from determined_master.api.http.bodies import MAX_LARGE_BODY_BYTES
from determined_master.domain.allocation import messages as alloc
from determined_master.services.access.task_tokens import TaskTokens
from determined_master.services.access.users import Users

REQUESTED_S = 10
DEADLINE_S = 60
CONFIG = """name: wirex
entrypoint: python3 train.py
searcher: {name: single, metric: loss, max_length: {batches: 5}}
hyperparameters: {lr: 0.1, net: {layers: 2}}
max_restarts: 0
labels: [a, b]
"""
FILE = {
    "path": "train.py",
    "type": 48,
    "content": base64.b64encode(b"print(1)\n").decode(),
    "mtime": "1700000000",
    "mode": 33188,
    "uid": 0,
    "gid": 0,
}
METRICS: dict[str, Any] = {
    "b": True,
    "i": 3,
    "inf": "Infinity",
    "l": [1, 2],
    "loss": 0.5,
    "nan": "NaN",
    "nested": {"a": 1},
    "none": None,
    "s": "str",
}


async def submitted(world: World, *, activate: bool = True) -> dict[str, str]:
    """A new experiment with its one trial; the names of both."""
    admin = world.clients["admin"]
    body = {"config": CONFIG, "modelDefinition": [FILE], "activate": activate}
    answer = await admin("POST", "/api/v1/experiments", body)
    assert answer.status == 200, answer.body
    experiment_id = answer.json()["experiment"]["id"]
    path = f"/api/v1/experiments/{experiment_id}/trials"
    [trial] = await until(admin, path, lambda got: got["trials"])
    return {
        "experiment_id": str(experiment_id),
        "trial_id": str(trial["id"]),
        "run_id": str(trial["id"]),
        "task_id": trial["taskId"],
        "allocation_id": f"{trial['taskId']}.1",
        "int": str(trial["id"]),
    }


async def until(client: Client, path: str, find: Callable[[Any], Any]) -> Any:
    """What `find` sees in an answer, once it sees anything."""
    async with asyncio.timeout(DEADLINE_S):
        while True:
            answer = await client("GET", path)
            if answer.status == 200 and (found := find(answer.json())):
                return found
            await asyncio.sleep(0.01)


async def until_true(
    look: Callable[[], Awaitable[Any]], is_so: Callable[[Any], bool], found: list[Any]
) -> None:
    """Return once what `look` gives is as wanted; its items are then in `found`."""
    async with asyncio.timeout(DEADLINE_S):
        while True:
            got = await look()
            if is_so(got):
                break
            await asyncio.sleep(0.01)
    if isinstance(got, list):
        found += got


async def running(world: World) -> None:
    """An experiment whose trial runs; `task` has the token of its allocation."""
    names = await submitted(world)
    names["container_id"] = str(entropy.new_uuid())
    admin = world.clients["admin"]
    await until(admin, f"/api/v1/tasks/{names['task_id']}", lambda got: got["task"]["allocations"])
    placed = (alloc.Placed(names["container_id"], "a1", (0,)),)
    await post(world, names, alloc.Assigned(placed))
    await container(world, names, "RUNNING")
    await admin("POST", f"/api/v1/allocations/{names['allocation_id']}/ready", {})
    world.names |= names
    world.shared.setdefault("running", []).append(names)
    world.clients["task"] = Client(admin.app, await session_token(world, names))


async def finished(world: World) -> None:
    """One experiment that has ended with all kinds of results; made once."""
    if "finished" not in world.shared:
        await ended(world)
        world.shared["finished"] = dict(world.names)
    world.names |= world.shared["finished"]


async def ended(world: World) -> None:
    """The same, for this sample only."""
    await running(world)
    await report(world)
    await container(world, world.names, "TERMINATED", exit_code=0)
    path = f"/api/v1/experiments/{world.names['experiment_id']}"
    await until(
        world.clients["admin"], path, lambda got: got["experiment"]["state"] == "STATE_COMPLETED"
    )
    world.names["int"] = world.names["experiment_id"]


async def idle(world: World) -> None:
    """No container runs any more."""
    for names in world.shared.pop("running", []):
        await container(world, names, "TERMINATED", exit_code=0)


async def all_on(world: World) -> None:
    """An idle agent on which nothing is switched off."""
    await idle(world)
    answer = await world.clients["admin"]("POST", "/api/v1/agents/a1/enable")
    assert answer.status == 200, answer.body


async def preempted(world: World) -> None:
    """A running allocation that is asked to leave."""
    await running(world)
    await post(world, world.names, alloc.PreemptRequested(reason="a test"))


async def with_resources(world: World) -> None:
    """A running allocation; `<uuid>` is its container's."""
    await running(world)
    world.names["uuid"] = world.names["container_id"]


async def with_metrics(world: World) -> None:
    """A running trial with all kinds of results."""
    await running(world)
    await report(world)


async def with_new_uuid(world: World) -> None:
    """A running trial; `<uuid>` is nobody's."""
    await running(world)
    world.names["uuid"] = str(entropy.new_uuid())


async def report(world: World) -> None:
    """Metrics of three groups, a checkpoint and log lines."""
    names, admin = world.names, world.clients["admin"]
    trial = f"/api/v1/trials/{names['trial_id']}"
    reports = [
        ("training", 1, METRICS),
        ("training", 3, METRICS),
        ("validation", 3, {"loss": 0.3, "acc": "-Infinity"}),
        ("custom/grp", 3, {"x": 1.5}),
    ]
    start = {"runId": int(names["trial_id"]), "checkpointStorage": STORAGE}
    storage = (await admin("POST", "/api/v1/runs/start", start)).json()
    for group, steps, values in reports:
        metrics = {"trialRunId": 1, "stepsCompleted": steps, "metrics": {"avgMetrics": values}}
        answer = await admin("POST", f"{trial}/metrics", {"group": group, "metrics": metrics})
        assert answer.status == 200, answer.body
    names["uuid"] = str(entropy.new_uuid())
    checkpoint = {
        "taskId": names["task_id"],
        "allocationId": names["allocation_id"],
        "uuid": names["uuid"],
        "reportTime": "2026-11-21T05:59:17.792Z",
        "resources": {"a.txt": "1", "d/": "0", "d/b.txt": "2", "metadata.json": "57"},
        "metadata": {"steps_completed": 3, "extra": {"k": "v"}},
        "state": "STATE_COMPLETED",
        "storageId": storage["storageId"],
    }
    answer = await admin("POST", "/api/v1/checkpoints", checkpoint)
    assert answer.status == 200, answer.body
    line = {
        "taskId": names["task_id"],
        "allocationId": names["allocation_id"],
        "agentId": "a1",
        "containerId": names["container_id"],
        "log": "from api <&>\n",
        "level": "LOG_LEVEL_WARNING",
        "source": "task",
        "stdtype": "stderr",
    }
    lines = [line, {**line, "rankId": 3}]
    assert (await admin("POST", "/api/v1/task/logs", {"logs": lines})).status == 200


STORAGE = {"type": "shared_fs", "host_path": "/tmp/storage"}


async def paused(world: World) -> None:
    """A paused experiment."""
    world.names |= await submitted(world, activate=False)


async def archivable(world: World) -> None:
    """An ended experiment that is not archived."""
    await finished(world)
    path = f"/api/v1/experiments/{world.names['experiment_id']}/unarchive"
    await world.clients["admin"]("POST", path, {})


async def archived(world: World) -> None:
    """An ended experiment that is archived."""
    await archivable(world)
    path = f"/api/v1/experiments/{world.names['experiment_id']}/archive"
    await world.clients["admin"]("POST", path, {})


def named(prepare: Callable[[World], Awaitable[None]] | None = None, **names: str) -> Any:
    """The same, and some names."""

    async def prepared(world: World) -> None:
        if prepare is not None:
            await prepare(world)
        world.names |= names

    return prepared


async def container(
    world: World, names: dict[str, str], state: Any, *, exit_code: int | None = None
) -> None:
    """What the agent would report of the one container."""
    event = alloc.ContainerChanged(
        container_id=names["container_id"],
        state=state,
        host_ip="127.0.0.1",
        exit_code=exit_code,
        agent_id="a1",
    )
    await post(world, names, event)


async def post(world: World, names: dict[str, str], event: Any) -> None:
    """Tell the allocation, which the trial may be about to request, of an event."""
    cause = f"test:{entropy.new_uuid()}"
    await world.engine.wait_for(ALLOCATION, names["allocation_id"], bool, REQUESTED_S)
    await world.engine.post(ALLOCATION, names["allocation_id"], event, cause=cause)


async def session_token(world: World, names: dict[str, str]) -> str:
    """The token of the task's allocation."""
    return (await task_tokens(world)).session_token(names["allocation_id"])


async def task_tokens(world: World) -> TaskTokens:
    """What the tokens of tasks follow from."""
    async with world.services[Users]._db.acquire() as conn:
        secret = await conn.fetchval("SELECT secret FROM cluster")
    return TaskTokens(secret)


LIST_DEFECT = "the list's values everywhere (wire.md 13, defect 9)"
CONFIG_FORM = frozenset(
    {
        "config",
        "experiment.config",
        "experiment.hyperparameters",
        "experiments[].config",
        "experiments[].hyperparameters",
    }
)
HPARAMS = frozenset(
    {"checkpoints[].training", "checkpoints[].resources", "checkpoints[].metadata"}
)
TRIAL = frozenset(
    {
        f"{at}.{name}"
        for at in ("trial", "trials[]")
        for name in (
            "hparams",
            "summaryMetrics",
            "bestCheckpoint.resources",
            "searcherMetricValue",
        )
    }
    | {
        f"{at}.{which}.metrics.avgMetrics"
        for at in ("trial", "trials[]")
        for which in ("bestValidation", "latestValidation")
    }
)
"""What depends on the code that was trained, not on the API."""
CASES: dict[str, Case] = {
    "ser.bad_struct": Case(finished, phrase="bad StructValue: "),
    "query.enum_repeated": Case(finished, free=CONFIG_FORM),
    "query.nested": Case(
        finished, free=CONFIG_FORM | {"experiments"}, why="the ids of the sample are not ours"
    ),
    "experiments.get": Case(finished, free=CONFIG_FORM, why=LIST_DEFECT),
    "experiments.get.404": Case(named(experiment_id="999999")),
    "experiments.list": Case(finished, free=CONFIG_FORM),
    "experiments.bad.pool": Case(phrase="is not available to workspace id"),
    "experiments.activate": Case(paused),
    "experiments.pause.finished": Case(finished),
    "experiments.kill.finished": Case(finished),
    "experiments.archive": Case(archivable),
    "experiments.archive.twice": Case(archived, phrase="already archived"),
    "experiments.fork": Case(
        finished,
        free=CONFIG_FORM | {"experiment.trialIds"},
        why="its trial is made right after the answer",
    ),
    "experiments.best_metric": Case(finished),
    "experiments.model_def": Case(finished),
    "experiments.checkpoints": Case(finished, free=HPARAMS),
    "experiment.config.single": Case(finished, free=CONFIG_FORM | {"*"}),
    "experiment.config.grid": Case(finished, free=frozenset("*")),
    "experiment.config.asha": Case(finished, free=frozenset("*")),
    "trials.get": Case(finished, free=TRIAL),
    "trials.list": Case(finished, free=TRIAL),
    "trials.workloads": Case(finished),
    "trials.checkpoints": Case(finished),
    "trials.metadata.post": Case(running),
    "trials.failed": Case(
        finished, free=TRIAL | {"trial.logPolicyMatched", "trial.bestCheckpoint"}
    ),
    "trials.logs": Case(finished),
    "trials.logs.desc": Case(finished),
    "trials.logs.fields": Case(finished),
    "tasks.logs": Case(finished),
    "tasks.logs.fields": Case(finished),
    "metrics.training": Case(finished),
    "metrics.validation": Case(finished),
    "metrics.group": Case(finished),
    "metrics.no_ids": Case(phrase="must specify at least one trial"),
    "task.allocation.done": Case(
        finished,
        free=frozenset({"allocation.statusCode"}),
        why="ours tells the exit status of the program",
    ),
    "task.allocation.bad": Case(phrase="nope"),
    "tasks.get": Case(running),
    "plain.tasks": Case(running),
    "checkpoints.get": Case(finished),
    "checkpoints.404": Case(named(uuid=str(entropy.new_uuid())), phrase="checkpoint '"),
    "checkpoints.metadata": Case(finished),
    "tasks.logs.post": Case(with_resources),
    "task.rendezvous": Case(with_resources),
    "task.rendezvous.404": Case(with_resources),
    "task.preempt.false": Case(running),
    "task.preempt.true": Case(preempted),
    "task.ready.404": Case(running),
    "task.all_gather.bad": Case(running),
    "task.proxy_address": Case(running),
    "task.context": Case(running),
    "task.progress": Case(running),
    "task.runner_metadata": Case(running),
    "task.metrics.conflict": Case(with_metrics, phrase="already reported loss"),
    "task.metrics.bad_group": Case(running, phrase="metric group"),
    "task.training_metrics": Case(running),
    "task.checkpoint": Case(with_new_uuid),
    "task.checkpoint.bad": Case(running, phrase="uuid"),
    "task.early_exit.bad": Case(running, phrase="EXITED_REASON_USER_REQUESTED_STOP"),
    "task.me": Case(running),
    "agents.list": Case(all_on),
    "slots.list": Case(all_on),
    "agents.disable": Case(all_on),
    "slots.disable": Case(all_on),
    "request.too_large": Case(
        headers={"content-length": str(MAX_LARGE_BODY_BYTES + 1)},
        phrase="larger than",
        status=413,
        why="the same request never succeeds, so a client must not repeat it",
    ),
}
