"""The SDK of 0.38.1 inside a task, with the token of the task's user."""

from __future__ import annotations

import re
from typing import Any

import pytest
from tests.compat.client import Client
from tests.e2e.cluster import Cluster
from tests.e2e.cluster_api import until

pytestmark = [pytest.mark.compat, pytest.mark.slow, pytest.mark.xdist_group("compat")]
PRINT = "echo token=$DET_USER_TOKEN; sleep 1000"
LINE = re.compile(r"token=(\S{20,})")


@pytest.fixture(scope="module")
def answers(client: Client, cluster: Cluster) -> dict[str, Any]:
    """The answers that a script got with the token of a command, which still runs."""
    words = ("--config", "resources.slots=0", "sh", "-c", PRINT)
    said = client.det("command", "run", "-d", *words)
    task = said.out.split()[-1]
    try:
        token = until(lambda: LINE.search(cluster.task_text(task)), what="the task's token")[1]
        got: dict[str, Any] = client.script("sdk_in_task.py", token)
    finally:
        client.det("command", "kill", task)
    return got


def test_it_creates_and_reads_its_users_things(answers: dict[str, Any]) -> None:
    assert (answers["state"], answers["trials"]) == ("STATE_COMPLETED", 1)
    assert answers["name"] == "renamed"
    assert answers["models"] == ["model of a task"]
    assert answers["projects"] == ["p"]
    assert "determined" in answers["users"]


def test_it_makes_nothing_that_outlives_the_task_for_others(answers: dict[str, Any]) -> None:
    assert len(answers["refused"]) == 3
    assert all("code in a task" in text for text in answers["refused"])
