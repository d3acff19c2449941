"""`det task` of generic tasks against a cluster."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.e2e.cluster import until
from tests.e2e.live.conftest import Person

pytestmark = [pytest.mark.e2e, pytest.mark.slow, pytest.mark.xdist_group("live")]
live = pytest.mark.live

CONFIG = """\
entrypoint: [python3, go.py, one]
resources: {slots: 0}
environment: {environment_variables: [TONE=loud]}
"""
SAYS = """
import os, sys
print("task", os.environ["DET_TASK_TYPE"], sys.argv[1:], os.environ["TONE"], flush=True)
"""
WAITS = """
import os, time
from determined import core

with core.init(tensorboard_mode=core.TensorboardMode.MANUAL) as context:
    print("run", os.environ["DET_ALLOCATION_ID"].rsplit(".", 1)[1], flush=True)
    while not context.preempt.should_preempt():
        time.sleep(0.02)
print("left", flush=True)
"""


def directory(person: Person, script: str) -> Path:
    folder = person.folder / f"task-{abs(hash(script))}"
    folder.mkdir(exist_ok=True)
    (folder / "go.py").write_text(script)
    return folder


def create(person: Person, script: str, *options: object) -> str:
    words = ("-c", directory(person, script), *options)
    said = person.det("task", "create", person.file(CONFIG), *words)
    return said.out.split("Created task ")[1].split()[0]


def task(person: Person, task_id: str) -> dict[str, Any]:
    found: dict[str, Any] = person.cluster.get(f"/api/v1/tasks/{task_id}")["task"]
    return found


def reaches(person: Person, task_id: str, state: str) -> None:
    wanted = f"GENERIC_TASK_STATE_{state}"
    until(lambda: task(person, task_id)["taskState"] == wanted, what=f"{state} of {task_id}")


def prints(person: Person, task_id: str, text: str) -> None:
    person.det_comes_to_say(text, "task", "logs", task_id)


@live("task create", "task fork", "task config", "task logs")
def test_a_program_runs_as_a_task_and_once_more(person: Person) -> None:
    folder = directory(person, SAYS)
    said = person.det("task", "create", person.file(CONFIG), "-c", folder, "-f").out
    assert "task GENERIC ['one'] loud" in said
    first = said.split("Created task ")[1].split()[0]
    reaches(person, first, "COMPLETED")
    again = person.det("task", "fork", first, "-f").out
    assert "task GENERIC ['one'] loud" in again
    change = ("--config", "environment.environment_variables=TONE=low", "--fork", first, "-f")
    other = person.det("task", "create", person.file("entrypoint: [python3, go.py]"), *change).out
    assert "task GENERIC [] low" in other
    config = person.det("task", "config", first, "--json").json()
    assert config["entrypoint"] == ["python3", "go.py", "one"]
    wrong = person.det("task", "create", person.file("entrypoint: x"), code=1).err
    assert "entrypoint: must be a list, not text" in wrong
    assert "not found" in person.det("task", "fork", "nope", code=1).err


@live("task pause", "task unpause", "task kill", "task list")
def test_a_task_is_paused_continues_and_is_asked_to_leave(person: Person) -> None:
    task_id = create(person, WAITS)
    prints(person, task_id, "run 1")
    assert task_id in person.det("task", "list").out
    assert person.det("task", "pause", task_id).out == f"Paused task {task_id}\n"
    reaches(person, task_id, "PAUSED")
    assert person.det("task", "unpause", task_id).out == f"Unpaused task {task_id}\n"
    prints(person, task_id, "run 2")
    person.det("task", "pause", task_id)
    reaches(person, task_id, "PAUSED")
    prints(person, task_id, "left")  # the second run was asked
    person.det("task", "unpause", task_id)
    prints(person, task_id, "run 3")
    child = create(person, WAITS, "--parent", task_id, "--no_pause")
    prints(person, child, "run 1")
    assert "no_pause" in person.det("task", "pause", child, code=1).err
    person.det("task", "kill", child, "--root")
    for one in (task_id, child):
        reaches(person, one, "CANCELED")
    assert "CANCELED" in person.det("task", "unpause", task_id, code=1).err
    said = person.det("task", "kill", task_id).out
    assert said == f"Task {task_id} had ended already: CANCELED\n"
