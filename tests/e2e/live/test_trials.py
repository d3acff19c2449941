"""`det trial`, `checkpoint`, `task` and `template` against a cluster."""

from __future__ import annotations

import tarfile
from pathlib import Path
from typing import Any

import pytest
from tests.e2e.cluster import until
from tests.e2e.live.conftest import CONFIG, SINGLE, TRAIN, Person

pytestmark = [pytest.mark.e2e, pytest.mark.slow, pytest.mark.xdist_group("live")]
live = pytest.mark.live


def checkpoints(person: Person, trial_id: int) -> list[dict[str, Any]]:
    """Those of a trial, by their steps."""
    found: list[dict[str, Any]] = person.cluster.get(f"/api/v1/trials/{trial_id}/checkpoints")[
        "checkpoints"
    ]
    return sorted(found, key=lambda c: int(c["metadata"]["steps_completed"]))


@live("trial describe", "trial logs", "trial download", "trial support-bundle")
def test_a_trial_is_described_and_downloaded(
    person: Person, finished_id: int, tmp_path: Path
) -> None:
    trial = person.trial(finished_id)["id"]
    told = person.det("t", "describe", trial, "--json").json()
    assert told["trial"]["id"] == trial
    assert len(told["workloads"]) == 9
    assert '"last"' in person.det("t", "describe", trial, "--metrics-summary").out
    assert "step 1" in person.det("t", "logs", trial, "--head", 30).out
    path = person.det("t", "download", trial, "--latest", "-o", tmp_path / "latest", "-q").out
    assert (Path(path.strip()) / "step").read_text() == "3"
    first = checkpoints(person, trial)[0]["uuid"]
    person.det("t", "download", trial, "--uuid", first, "-o", tmp_path / "first")
    assert (tmp_path / "first" / "step").read_text() == "1"
    by = ("--best", "--sort-by", "acc", "--smaller-is-better", "false")
    person.det("t", "download", trial, *by, "-o", tmp_path / "best")
    assert (tmp_path / "best" / "step").read_text() == "3"
    said = person.det("t", "support-bundle", trial, "-o", tmp_path / "bundles").out
    [bundle] = (tmp_path / "bundles").iterdir()
    assert str(bundle) in said
    with tarfile.open(bundle) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    assert {"trial.json", "experiment.json", "workloads.json", "trial_logs.txt"} <= names


@live(
    "trial kill",
    "trial set log-retention",
    "task list",
    "task config",
    "task logs",
    "task kill",
    "task cleanup-logs",
)
def test_trials_and_their_tasks_are_steered(person: Person) -> None:
    first, second = person.create(), person.create()
    trials = [person.prints(number, "waiting") for number in (first, second)]
    tasks = [trial["taskId"] for trial in trials]
    listed = person.det("task", "list", "--csv").rows()
    places = {row["Task ID"]: row["Agent"] for row in listed}  # others' tasks may be leaving
    assert [places[task] for task in tasks] == ["agent-0", "agent-0"]
    summaries = person.det("task", "ls", "--json").json()
    assert {s["taskId"] for s in summaries.values()} >= set(tasks)
    assert "metric: loss" in person.det("task", "config", tasks[0]).out
    assert person.det("task", "config", tasks[0], "--json").json()["name"] == "waits"
    said = person.det("task", "logs", tasks[0], "--allocation-id", f"{tasks[0]}.1").out
    assert "waiting" in said
    assert f"det task logs -f {tasks[0]}" in said
    person.det("t", "kill", trials[0]["id"])
    person.det("task", "kill", tasks[1])
    assert {person.cluster.wait(number) for number in (first, second)} == {"CANCELED"}
    person.det("t", "set", "log-retention", trials[0]["id"], "--days", 0)
    person.det("t", "set", "log-retention", trials[1]["id"], "--forever")
    removed = person.det("task", "cleanup-logs").out
    assert int(removed.split()[1]) > 0
    assert "waiting" not in person.det("t", "logs", trials[0]["id"]).out
    assert "waiting" in person.det("t", "logs", trials[1]["id"]).out
    assert "task 'nope' not found" in person.det("task", "kill", "nope", code=1).err


@live("checkpoint describe", "checkpoint download", "checkpoint rm", "checkpoint delete")
def test_checkpoints_are_downloaded_thinned_and_deleted(person: Person, tmp_path: Path) -> None:
    number = person.create(CONFIG.replace("max_trials: 2", "max_trials: 1"), TRAIN)
    person.det("e", "wait", number, "--polling-interval", 0.05)
    first, second, third = (c["uuid"] for c in checkpoints(person, person.trial(number)["id"]))
    assert first in person.det("c", "describe", first).out
    for mode in ("direct", "master", "auto"):
        where = tmp_path / mode
        person.det("c", "download", third, "-o", where, "--mode", mode)
        assert (where / "step").read_text() == "3"
        assert (where / "weights" / "w").read_text() == "w" * 10
    person.det("c", "rm", first, "--glob", "weights/**", typed="y\n")
    until(lambda: state(person, first) == "PARTIALLY_DELETED", what="fewer files")
    person.det("c", "delete", f"{first},{second}", "--yes")
    until(lambda: {state(person, u) for u in (first, second)} == {"DELETED"}, what="no files")
    assert state(person, third) == "COMPLETED"
    said = person.det("c", "download", first, "-o", tmp_path / "gone", code=1).err
    assert "DELETED" in said
    assert not (tmp_path / "gone").exists()


def state(person: Person, uuid: str) -> str:
    found = person.cluster.get(f"/api/v1/checkpoints/{uuid}")["checkpoint"]["state"]
    return str(found).removeprefix("STATE_")


@live(
    "template create",
    "template describe",
    "template list",
    "template set",
    "template set-value config",
    "template remove",
)
def test_a_template_is_kept(person: Person) -> None:
    person.det("w", "create", "templates")
    one, two = person.file("max_restarts: 1"), person.file("max_restarts: 2")
    person.det("tpl", "create", "t", one, "-w", "templates")
    assert "templates" in person.det("tpl", "list", "-d").out
    assert "'t' already exists" in person.det("tpl", "create", "t", one, code=1).err
    assert person.det("tpl", "describe", "t").out == "max_restarts: 1\n"
    person.det("tpl", "set", "t", two)
    assert person.det("tpl", "describe", "t").out == "max_restarts: 2\n"
    person.det("tpl", "set-value", "config", "t", one)
    assert person.det("tpl", "describe", "t").out == "max_restarts: 1\n"
    person.det("tpl", "remove", "t")
    assert "template 't' not found" in person.det("tpl", "describe", "t", code=1).err


@live("template create", "template remove")
def test_a_template_serves_tasks_of_every_kind(person: Person, finished_id: int) -> None:
    settings = "description: by template\nresources: {slots: 0, priority: 7, agent_label: old}\n"
    person.det("tpl", "create", "kinds", person.file(settings))
    by = ("--template", "kinds")
    elsewhere = ("-d", "--config", "resources.resource_pool=lab", *by)  # its tasks wait
    for noun, words in (
        ("command", ("run", *elsewhere, "true")),
        ("notebook", ("start", *elsewhere)),
        ("shell", ("start", *elsewhere)),
        ("tensorboard", ("start", finished_id, *elsewhere)),
    ):
        task_id = person.det(noun, *words).out.strip()
        config = person.det(noun, "config", task_id).out
        assert "priority: 7\n" in config, config
        person.det(noun, "kill", task_id)
    number = person.create(SINGLE, "pass", "--paused", *by)
    assert person.experiment(number)["description"] == "by template"
    person.det("e", "kill", number)
    person.det("tpl", "remove", "kinds")
