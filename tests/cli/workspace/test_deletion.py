"""`det workspace delete`: what it says before it asks, and what it sends."""

from __future__ import annotations

from typing import Any

import pytest
from tests.cli import canned
from tests.cli.conftest import Det
from tests.cli.fake_master import Call, FakeMaster

from determined_master.domain.states import UNENDED

HERE = "/api/v1/workspaces/7"
KINDS = ("command", "notebook", "shell", "tensorboard")


@pytest.fixture
def vision(master: FakeMaster) -> FakeMaster:
    """A master with the workspace `vision`: projects 3 and 4, a notebook, an ended command."""
    space = {"id": 7, "name": "vision", "numProjects": 2, "numExperiments": 3}
    projects = canned.page("projects", {"id": 3}, {"id": 4})
    master.routes[("GET", "/api/v1/workspaces")] = (200, canned.page("workspaces", space))
    master.routes[("GET", f"{HERE}/projects")] = (200, projects)
    running = {
        "notebook": {"id": "n-1", "state": "STATE_RUNNING"},
        "command": {"id": "c-1", "state": "STATE_TERMINATED"},
    }
    for kind in KINDS:
        tasks = [running[kind]] if kind in running else []
        master.routes[("GET", f"/api/v1/{kind}s")] = (200, canned.page(f"{kind}s", *tasks))
    master.routes[("DELETE", HERE)] = (200, {"completed": False})
    return master


def experiments(*ids: int) -> Any:
    """Project 3 has these experiments that have not ended, project 4 none."""

    def answer(call: Call) -> tuple[int, Any]:
        assert call.query["states"] == [f"STATE_{state}" for state in UNENDED]
        rows = [{"id": i} for i in ids] if call.query["projectId"] == ["3"] else []
        return 200, canned.page("experiments", *rows)

    return answer


def test_it_names_what_it_kills_before_it_asks(det: Det, vision: FakeMaster) -> None:
    vision.routes[("GET", "/api/v1/experiments")] = experiments(8, 9)
    refused = det("workspace", "delete", "vision", stdin="n\n")
    killed = "It kills what has not ended: 2 experiment(s) (8, 9) and 1 task(s) (n-1)."
    assert killed in refused.out
    assert refused.status == 1
    assert vision.made("DELETE", HERE) == []
    assert "Started to delete" in det("workspace", "delete", "vision", stdin="y\n").out
    assert len(vision.made("DELETE", HERE)) == 1


def test_it_names_at_most_ten_of_many(det: Det, vision: FakeMaster) -> None:
    vision.routes[("GET", "/api/v1/experiments")] = experiments(*range(11, 31))
    asked = det("workspace", "delete", "vision", stdin="n\n").out
    assert "20 experiment(s) (11, 12, 13, 14, 15, 16, 17, 18, 19, 20 ...)" in asked


def test_without_a_question_nothing_is_counted(det: Det, vision: FakeMaster) -> None:
    assert "Started to delete" in det("workspace", "delete", "vision", "--yes").out
    assert vision.made("GET", "/api/v1/experiments") == []
