"""`det notebook` and `det tensorboard` against a cluster, with the real programs."""

from __future__ import annotations

import json
import urllib.request
import webbrowser
from collections.abc import Iterator
from typing import Any

import pytest
from tests.e2e.cluster import until
from tests.e2e.live.conftest import Person
from tests.environments import NotInstalled
from tests.interactive.conftest import install_tools

pytestmark = [pytest.mark.e2e, pytest.mark.slow, pytest.mark.xdist_group("live")]
live = pytest.mark.live

WRITES = """
from determined import core

with core.init() as context:
    for step in (1, 2, 3):
        context.train.report_training_metrics(step, {"loss": 1 / step})
"""
BROKEN = ("--config", "environment.environment_variables=NOTEBOOK_PORT=none")


@pytest.fixture(scope="session")
def tools() -> tuple[str, str, str, str]:
    """Options for a task that has JupyterLab and TensorBoard, and no slot."""
    try:
        python = install_tools()
    except NotInstalled as reason:
        pytest.skip(f"JupyterLab and TensorBoard cannot be installed: {reason}")
    variable = f"environment.environment_variables=DET_PYTHON_EXECUTABLE={python}"
    return ("--config", "resources.slots=0", "--config", variable)


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The addresses that a browser was asked to open."""
    found: list[str] = []

    def open_(address: str) -> bool:
        found.append(address)
        return True

    monkeypatch.setattr(webbrowser, "open", open_)
    return found


@pytest.fixture
def started(person: Person) -> Iterator[list[tuple[str, str]]]:
    """Nouns and ids of what a test has started; killed at its end."""
    found: list[tuple[str, str]] = []
    yield found
    for noun, task_id in found:
        person.det(noun, "kill", task_id, "--force")


def id_of(text: str) -> str:
    return text.partition("(id: ")[2].partition(",")[0]


def fetch(address: str, token: str = "") -> str:
    request = urllib.request.Request(address)
    if token:
        request.add_header("Authorization", f"Bearer {token}")
    with urllib.request.urlopen(request, timeout=30) as answer:
        text: str = answer.read().decode()
    return text


def state(person: Person, kind: str, task_id: str) -> str:
    found: dict[str, Any] = person.cluster.get(f"/api/v1/{kind}s/{task_id}")[kind]
    return str(found["state"]).removeprefix("STATE_")


@live("notebook start", "notebook open", "notebook logs", "notebook list", "notebook kill")
def test_a_notebook_is_opened_through_the_master(
    person: Person, tools: tuple[str, ...], opened: list[str], started: list[tuple[str, str]]
) -> None:
    folder = person.model("pass")
    said = person.det("notebook", "start", "-c", folder, *tools)
    task_id = id_of(said.out)
    started.append(("notebook", task_id))
    [address] = opened
    assert f"Notebook is running at: {address}\n" in said.out
    path, token = address.split("?token=")
    assert "jupyter" in fetch(address).lower()
    listed = json.loads(fetch(f"{path}api/contents?token={token}"))
    assert listed["type"] == "directory"
    person.det("notebook", "open", task_id[:8])
    assert opened == [address, address]
    person.det_comes_to_say("JupyterLab is ready", "notebook", "logs", task_id)
    rows = {row["id"]: row for row in person.det("notebook", "list", "--csv").rows()}
    assert rows[task_id]["state"] == "RUNNING"
    person.det("notebook", "kill", task_id)
    until(lambda: state(person, "notebook", task_id) == "TERMINATED", what="the end")
    ended = person.det("notebook", "open", task_id, code=1).err
    assert f"notebook {task_id} ended: " in ended


@live("notebook start", "notebook config", "notebook set priority")
def test_a_notebook_that_cannot_start_says_why(
    person: Person, started: list[tuple[str, str]]
) -> None:
    before = person.det("notebook", "list", "-q").out
    preview = person.det("notebook", "start", "--preview", "--config", "description=mine").out
    assert "description: mine\n" in preview
    assert person.det("notebook", "list", "-q").out == before
    queued = person.det("notebook", "start", "-d", "--config", "resources.slots=2").out.strip()
    started.append(("notebook", queued))
    person.det("notebook", "set", "priority", queued, 11)
    assert "priority: 11" in person.det("notebook", "config", queued).out
    said = person.det("notebook", "start", "--config", "resources.slots=0", *BROKEN, code=1)
    started.append(("notebook", id_of(said.out)))
    assert "Failed to start notebook: notebook" in said.err
    assert "NOTEBOOK_PORT must be a port, got 'none'" in said.err


@live(
    "tensorboard start",
    "tensorboard open",
    "tensorboard list",
    "tensorboard logs",
    "tensorboard config",
    "tensorboard set priority",
    "tensorboard kill",
)
def test_a_tensorboard_shows_an_experiment(
    person: Person, tools: tuple[str, ...], opened: list[str], started: list[tuple[str, str]]
) -> None:
    number = person.create(script=WRITES)
    assert person.reaches(number, "COMPLETED", "ERROR") == "COMPLETED"
    said = person.det("tensorboard", "start", number, *tools[2:])
    task_id = id_of(said.out)
    started.append(("tensorboard", task_id))
    [address] = opened
    assert address.startswith(f"{person.cluster.address}/proxy/{task_id}/")
    token = person.cluster.session().token
    assert "TensorBoard" in fetch(address.partition("?")[0], token)
    rows = {row["id"]: row for row in person.det("tensorboard", "list", "--csv").rows()}
    assert rows[task_id]["experimentIds"] == str(number)
    person.det("tensorboard", "set", "priority", task_id, 12)
    assert "priority: 12" in person.det("tensorboard", "config", task_id).out
    assert task_id in person.det("tensorboard", "logs", task_id).out
    person.det("tensorboard", "open", task_id)
    assert len(opened) == 2
    person.det("tensorboard", "kill", task_id)
    until(lambda: state(person, "tensorboard", task_id) == "TERMINATED", what="the end")
    nothing = person.det("tensorboard", "start", 999_999, code=1).err
    assert "999999" in nothing
