"""Names with a slash: `det` 0.38.1 sends the slash of a path as it is."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.compat.client import Client
from tests.compat.conftest import Finished
from tests.e2e.cluster import PASSWORD, Cluster

pytestmark = [pytest.mark.compat, pytest.mark.slow, pytest.mark.xdist_group("compat")]


def test_a_model_and_its_versions(client: Client, checkpoints: list[dict[str, Any]]) -> None:
    name, uuid = "team/vision/m 1", checkpoints[-1]["uuid"]
    made = client.det("model", "create", name, "--json").json()
    client.det("model", "register-version", name, uuid)
    assert name in [row["name"] for row in client.det("model", "list", "--json").json()]
    assert client.det("model", "describe", name, "--json").json()["id"] == made["id"]
    assert uuid in client.det("model", "list-versions", name).out
    client.det("model", "move", name, "-w", "Uncategorized")
    found = client.script("sdk_names.py", "admin", PASSWORD, name)
    assert found == {"labels": ["a/b"], "notes": "changed", "versions": []}
    client.det("model", "delete", name, typed="y\n")
    assert name not in client.det("model", "list").out


def test_a_template(client: Client, tmp_path: Path) -> None:
    name, config = "team/base", tmp_path / "base.yaml"
    config.write_text("description: first\n")
    client.det("template", "create", name, config)
    config.write_text("description: second\n")
    client.det("template", "set", name, config)
    config.write_text("max_restarts: 1\n")
    client.det("template", "set-value", "config", name, config)
    assert name in client.det("template", "list").out
    assert "max_restarts: 1" in client.det("template", "describe", name).out
    client.det("template", "remove", name)
    assert name not in client.det("template", "list").out


def test_a_tag_of_an_experiment(client: Client, cluster: Cluster, finished: Finished) -> None:
    def labels() -> list[str]:
        found: list[str] = cluster.get(f"/api/v1/experiments/{finished.id}")["experiment"][
            "labels"
        ]
        return found

    client.det("experiment", "label", "add", finished.id, "team/nightly")
    assert "team/nightly" in labels()
    client.det("experiment", "label", "remove", finished.id, "team/nightly")
    assert "team/nightly" not in labels()


def test_users_and_groups(client: Client) -> None:
    client.det("user", "create", "corp/ada", "--password", "Secret-1234")
    client.det("user", "edit", "corp/ada", "--display-name", "Ada / Corp")
    assert "Ada / Corp" in client.det("user", "list").out
    client.det("user-group", "create", "corp/all", "--add-user", "corp/ada")
    assert "corp/ada" in client.det("user-group", "describe", "corp/all").out
    client.det("user-group", "remove-user", "corp/all", "corp/ada")
    client.det("user-group", "delete", "corp/all", "--yes")
    client.det("user", "deactivate", "corp/ada")


def test_workspaces_and_projects(client: Client) -> None:
    client.det("workspace", "create", "corp/lab")
    client.det("project", "create", "corp/lab", "cats/dogs")
    assert "cats/dogs" in client.det("workspace", "list-projects", "corp/lab").out
    assert "cats/dogs" in client.det("project", "describe", "corp/lab", "cats/dogs").out
    client.det("project", "delete", "corp/lab", "cats/dogs", "--yes")
    client.det("workspace", "delete", "corp/lab", "--yes")
    assert "corp/lab" not in client.det("workspace", "list").out
