"""The client of 0.38.1 on a cluster with roles: a workspace that its user may not see."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.compat.client import Client
from tests.e2e.cluster import PASSWORD
from tests.e2e.conftest import running

pytestmark = [pytest.mark.compat, pytest.mark.slow, pytest.mark.xdist_group("compat")]

SETTINGS = """\
resource_manager: {type: agent, cluster_name: house}
resource_pools: [{pool_name: default}, {pool_name: rig}]
security: {authz: {type: rbac}}
"""
KINDS = ("commands", "notebooks", "shells", "tensorboards")


@pytest.fixture(scope="module")
def answers(python: Path) -> Iterator[dict[str, Any]]:
    with running(agents=1, slots=1, settings=SETTINGS) as cluster:
        client = Client(python, cluster.root / "home", cluster.address)
        yield client.script("sdk_hidden.py", "determined", PASSWORD, PASSWORD)


@pytest.mark.parametrize("kind", KINDS)
def test_tasks_of_a_hidden_workspace_are_not_found(answers: dict[str, Any], kind: str) -> None:
    status, text = answers["hidden"][kind]
    assert (status, f"workspace '{answers['id']}' not found" in text) == (404, True), text


@pytest.mark.parametrize("kind", KINDS)
def test_a_hidden_workspace_is_answered_like_one_that_does_not_exist(
    answers: dict[str, Any], kind: str
) -> None:
    status, text = answers["missing"][kind]
    hidden = answers["hidden"][kind][1]
    assert (status, text) == (404, hidden.replace(str(answers["id"]), "999999"))


def test_a_list_of_all_workspaces_leaves_out_the_tasks_of_a_hidden_one(
    answers: dict[str, Any],
) -> None:
    assert answers["any"] == [200, 0]


def test_a_viewer_of_the_workspace_gets_its_tasks(answers: dict[str, Any]) -> None:
    counts = {kind: count for kind, (_, count) in answers["seen"].items()}
    assert counts == {"commands": 1, "notebooks": 0, "shells": 0, "tensorboards": 0}


@pytest.mark.parametrize(
    ("what", "lacks"),
    [
        ("launch", "'create nsc' in workspace 'hush'"),
        ("create", "'create experiment' in workspace 'Uncategorized'"),
        ("template", "'create templates' in workspace 'hush'"),
    ],
)
def test_a_refusal_keeps_its_phrase_and_names_permission_and_workspace(
    answers: dict[str, Any], what: str, lacks: str
) -> None:
    status, text = answers[what]
    assert (status, "access denied" in text) == (403, True), text
    assert f"determined lacks {lacks}" in text


def test_templates_serve_those_who_see_their_workspace(answers: dict[str, Any]) -> None:
    assert answers["by_theirs"][0] == 200
    status, text = answers["by_secret"]
    assert (status, "template 'secret' not found" in text) == (404, True), text


def test_a_viewer_may_view_the_clusters_config_policies(answers: dict[str, Any]) -> None:
    assert answers["policies"]


def test_a_taken_name_keeps_its_phrase(answers: dict[str, Any]) -> None:
    assert "row already exists" in answers["group"][1]


def test_health_names_the_resource_manager_by_its_cluster(answers: dict[str, Any]) -> None:
    assert answers["health"] == [{"cluster_name": "house", "status": "up"}]


def test_a_viewer_cannot_rename_the_first_workspace_as_nobody_can(
    answers: dict[str, Any],
) -> None:
    status, text = answers["first"]
    assert (status, "immutable" in text) == (400, True), text
    status, text = answers["other"]
    assert (status, "lacks 'update workspace'" in text) == (403, True), text
