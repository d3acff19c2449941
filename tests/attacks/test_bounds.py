"""N10: one request with a very large list, line or name space holds up everybody else."""

from __future__ import annotations

import json
import time
from typing import Any

import asyncpg
import pytest
from tests.api import cases_experiments as scene
from tests.api.client import Answer
from tests.api.samples import World

from determined_master.api.table import all_routes
from determined_master.domain.errors import InvalidArgument
from determined_master.domain.metrics import limits
from determined_master.services.logs import incoming
from determined_master.services.metrics import storing
from determined_master.services.metrics.series import MAX_METRICS
from determined_master.settings.yaml_text import parse_yaml
from determined_master.store.workspaces import project_columns
from determined_wire.bounds import BOUNDS, DEFAULT, FREE, TEXT

pytestmark = [pytest.mark.slow, pytest.mark.asyncio(loop_scope="module")]
MANY = DEFAULT.items + 1
LONG = "x" * (TEXT.items + 1)
LINE = {"taskId": "none", "log": "x\n"}
FILE = {**scene.FILE, "content": ""}
FILES = BOUNDS["CreateExperimentRequest.model_definition"].items + 1
REPORT: dict[str, Any] = {"metrics": {"trialId": 1, "metrics": {"avgMetrics": {"a": 1}}}}
TOO_LARGE = [
    ("POST", "/api/v1/task/logs", {"logs": [LINE] * MANY}, "logs", MANY),
    ("POST", "/task-logs", [{"task_id": "none", "log": "x\n"}] * MANY, "logs", MANY),
    (
        *("POST", "/api/v1/experiments"),
        {"config": "", "modelDefinition": [FILE] * FILES},
        *("modelDefinition", FILES),
    ),
    ("POST", "/api/v1/commands", {"files": [FILE] * FILES}, "files", FILES),
    ("POST", "/api/v1/generic-tasks", {"contextDirectory": [FILE] * FILES}, "context", FILES),
    *(
        ("POST", path, {name: list(range(MANY))}, name, MANY)
        for path, name in (
            ("/api/v1/projects/1/experiments/pause", "experimentIds"),
            ("/api/v1/runs/kill", "runIds"),
            ("/api/v1/tensorboards", "trialIds"),
        )
    ),
    ("PATCH", "/api/v1/users", {"userIds": list(range(MANY))}, "userIds", MANY),
    # Neither the other spelling of names nor numbers as texts is a way round.
    ("POST", "/api/v1/runs/kill", {"run_ids": [str(n) for n in range(MANY)]}, "runIds", MANY),
    ("DELETE", "/api/v1/checkpoints", {"checkpointUuids": ["x"] * MANY}, "checkpointUuids", MANY),
    ("POST", "/api/v1/trials/1/metrics/batch", {"reports": [REPORT] * 1001}, "reports", 1001),
    (
        *("POST", "/api/v1/preview-hp-search"),
        {"config": {"hyperparameters": {f"h{n}": [n] for n in range(FREE.items)}}},
        *("config", FREE.items + 1),
    ),
    (
        *("POST", "/api/v1/models"),
        {"name": "m", "metadata": {"a": [[1] * 100] * 200}},
        *("metadata", FREE.items + 1),
    ),
    (
        *("PATCH", "/api/v1/experiments/1"),
        {"labels": [f"l{n}" for n in range(1001)]},
        *("labels", 1001),
    ),
    # Names stand in lists that everybody reads.
    *(
        (method, path, body, field, len(LONG))
        for method, path, body, field in (
            ("PATCH", "/api/v1/users/2", {"displayName": LONG}, "displayName"),
            ("PATCH", "/api/v1/models/m/versions/1", {"name": LONG}, "name"),
            ("PATCH", "/api/v1/experiments/1", {"labels": [LONG]}, "labels[]"),
            ("POST", "/api/v1/task/logs", {"logs": [{**LINE, "agentId": LONG}]}, "logs.agentId"),
            ("POST", "/api/v1/groups", {"name": LONG}, "name"),
            (
                *("POST", "/api/v1/allocations/a/acceleratorData"),
                {"acceleratorData": {"nodeName": LONG}},
                "acceleratorData.nodeName",
            ),
        )
    ),
]


@pytest.mark.parametrize(
    ("method", "path", "body", "field", "count"),
    [pytest.param(*row, id=f"{row[1]} {row[3]}") for row in TOO_LARGE],
)
async def test_a_list_over_its_bound_is_refused_with_the_remedy(
    world: World, method: str, path: str, body: Any, field: str, count: int
) -> None:
    refused = await world.clients["admin"](method, path, body)
    assert refused.status == 400, refused.text[:300]
    assert f"the field {field}" in refused.text
    assert f"has {count}" in refused.text or count == FREE.items + 1
    assert "are allowed in one request: " in refused.text


@pytest.mark.parametrize(
    ("path", "metadata", "characters"),
    [
        ("models", {"a": ["x" * FREE.characters]}, FREE.characters),
        ("models", {"x" * FREE.characters: 1, "b": 1}, FREE.characters),
        ("runs/1/metadata", {"a": "x" * 65_536}, 65_536),
    ],
)
async def test_texts_in_a_free_value_have_so_many_characters_and_no_more(
    world: World, path: str, metadata: Any, characters: int
) -> None:
    """Lists carry them: one run with 8 MB of metadata stood in each list of its project."""
    refused = await world.clients["admin"]("POST", f"/api/v1/{path}", {"metadata": metadata})
    assert refused.status == 400, refused.text[:300]
    told = f"the field metadata has {characters + 1} characters, at most {characters} are"
    assert told in refused.text


async def test_a_change_of_many_users_is_one_statement(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With a transaction for each, 10,000 took ten seconds."""
    acquire = asyncpg.Pool.acquire
    transactions = 0

    def counted(*arguments: Any, **options: Any) -> Any:
        nonlocal transactions
        transactions += 1
        return acquire(*arguments, **options)

    monkeypatch.setattr(asyncpg.Pool, "acquire", counted)
    ids = list(range(1001, 1001 + DEFAULT.items))
    body = {"userIds": ids, "activate": False}
    results = (await world.clients["admin"]("PATCH", "/api/v1/users", body)).json()["results"]
    assert [result["id"] for result in results] == ids
    assert {result["error"] for result in results} == {"user not found"}
    assert transactions < 10


async def test_fields_of_a_plain_log_line_have_the_same_bound(world: World) -> None:
    line = {"task_id": "none", "log": "x\n"}
    for field in ("task_id", "agent_id", "container_id", "source", "stdtype"):
        refused = await world.clients["admin"]("POST", "/task-logs", [{**line, field: LONG}])
        assert refused.status == 400
        assert f"length <= {TEXT.items} - at `$[0].{field}`" in refused.json()["message"]


async def test_a_list_of_trials_carries_no_large_values(world: World) -> None:
    await scene.running(world)
    admin, names = world.clients["admin"], world.names
    path = f"/api/v1/trials/{names['trial_id']}/metrics"
    report = {"trialRunId": 1, "stepsCompleted": 90}
    refused = await admin(
        "POST",
        path,
        {"group": "g", "metrics": {**report, "metrics": {"avgMetrics": {"a": "x" * 65_537}}}},
    )
    assert refused.status == 400
    assert "65537 characters of text in one report: at most 65536" in refused.text
    large = {"text": "x" * 65_000, "values": list(range(90_000)), "loss": 0.25}
    sent = {"group": "g", "metrics": {**report, "metrics": {"avgMetrics": large}}}
    assert (await admin("POST", path, sent)).status == 200

    def is_counted(answer: Any) -> bool:
        return "values" in answer["trial"]["summaryMetrics"].get("g", {})

    await scene.until(admin, f"/api/v1/trials/{names['trial_id']}", is_counted)
    runs = await admin("POST", "/api/v1/runs", {"limit": 100})
    assert len(runs.body) < 64 * 1024


async def test_every_bound_is_that_of_a_field_that_requests_have() -> None:
    from determined_master.api.http.protojson.bounded import fields_of

    seen: set[Any] = set()
    requests = [route.request for route in all_routes() if route.request is not None]
    names = {f"{m}.{f}" for request in requests for m, f, _ in fields_of(request, seen)}
    assert BOUNDS.keys() <= names


async def reported(world: World, names: dict[str, str], step: int, **metrics: float) -> Answer:
    metric = {"trialRunId": 1, "stepsCompleted": step, "metrics": {"avgMetrics": metrics}}
    path = f"/api/v1/trials/{names['trial_id']}/metrics"
    return await world.clients["user"]("POST", path, {"group": "training", "metrics": metric})


async def test_the_metrics_of_a_trial_have_so_many_names_and_no_more(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "MAX_NAMES", 5)
    monkeypatch.setattr(storing, "MAX_NAMES", 5)
    await scene.running(world)
    names = world.names
    refused = await reported(world, names, 1, **{f"m{n}": 1.0 for n in range(6)})
    assert refused.status == 400
    assert "6 names of metrics in one trial: at most 5" in refused.text
    for step in range(1, 4):
        assert (await reported(world, names, step, a=1, b=2, c=3)).status == 200
    refused = await reported(world, names, 4, a=1, d=1, e=1, f=1)
    assert "6 names of metrics in one trial: at most 5" in refused.text
    assert (await reported(world, names, 4, d=1, e=1)).status == 200
    assert (await reported(world, names, 5, f=1)).status == 400
    assert (await reported(world, names, 5, a=1, e=1)).status == 200
    reports = [
        {
            "group": "training",
            "metrics": {
                "trialId": int(names["trial_id"]),
                "trialRunId": 1,
                "stepsCompleted": step,
                "metrics": {"avgMetrics": metrics},
            },
        }
        for step, metrics in ((6, {"a": 1}), (7, {"g": 1}), (8, {"b": 1}))
    ]
    path = f"/api/v1/trials/{names['trial_id']}/metrics/batch"
    answer = await world.clients["user"]("POST", path, {"reports": reports})
    errors = [result["error"] for result in answer.json()["results"]]
    assert (errors[0], errors[2]) == ("", "")
    assert "6 names of metrics" in errors[1]


async def test_one_request_reads_so_many_metrics_and_no_more(world: World) -> None:
    """Ten thousand were ten thousand parameters of a statement: five seconds of the database."""
    admin, names = world.clients["admin"], await scene.submitted(world)
    path = f"/api/v1/trials/time-series?trialIds={names['trial_id']}&maxDatapoints=10&"

    async def asked(count: int) -> Answer:
        return await admin("GET", path + "&".join(f"metricIds=g.m{n}" for n in range(count)))

    assert (await asked(MAX_METRICS)).status == 200
    refused = await asked(MAX_METRICS + 1)
    assert refused.status == 400
    assert "1001 metrics: at most 1000 at once, ask for them in several requests" in refused.text


async def test_a_project_lists_so_many_columns_and_no_more(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    await scene.running(world)
    metrics = {f"m{n}": float(n) for n in range(30)}
    assert (await reported(world, world.names, 1, **metrics)).status == 200
    admin = world.clients["admin"]
    ranges = "/api/v1/projects/1/experiments/metric-ranges"
    await scene.until(admin, ranges, lambda got: len(got["ranges"]) >= 30)
    monkeypatch.setattr(project_columns, "MAX_COLUMNS", 20)
    columns = (await admin("GET", "/api/v1/projects/1/columns")).json()["columns"]
    assert sum("m" in column["column"] and "." in column["column"] for column in columns) <= 20
    assert len((await admin("GET", ranges)).json()["ranges"]) == 20


async def test_a_very_long_line_is_stored_as_several(world: World) -> None:
    """An error would end the task: the published client's log shipper takes any for the end."""
    await scene.running(world)
    task_id, admin = world.names["task_id"], world.clients["admin"]
    text = "".join(chr(97 + n % 26) for n in range(3 * incoming.MAX_LINE_CHARACTERS))
    line = {"taskId": task_id, "log": f"{text}!\n"}
    assert (await admin("POST", "/api/v1/task/logs", {"logs": [line] * 20})).status == 200
    answer = await admin("GET", f"/api/v1/tasks/{task_id}/logs?limit=0")
    parts = [json.loads(row)["result"]["log"] for row in answer.body.splitlines()]
    parts = [part for part in parts if part.startswith(("a", "!", text[65536], text[131072]))]
    assert max(map(len, parts)) == incoming.MAX_LINE_CHARACTERS + 1
    assert "".join(part.rstrip("\n") for part in parts[:4]) == f"{text}!"
    assert len(parts) == 80


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("[" * 2000 + "]" * 2000, id="lists"),
        pytest.param("{a: " * 2000 + "}" * 2000, id="maps"),
        pytest.param("[" * 200_000, id="brackets"),
        pytest.param("- " * 2000 + "1", id="items"),
        pytest.param("a: &a [" + "[" * 100 + "]" * 101, id="anchors"),
    ],
)
async def test_a_deep_text_is_refused_where_it_becomes_too_deep(text: str) -> None:
    began = time.thread_time()
    with pytest.raises(InvalidArgument, match="nested more than 64 levels deep"):
        parse_yaml(text)
    assert time.thread_time() - began < 2
