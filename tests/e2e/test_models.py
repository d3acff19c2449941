"""`det model` and the classes of the SDK against a real master."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.e2e.cluster import PASSWORD, Cluster

from determined.common.api.errors import APIException, NotFoundException
from determined.common.experimental import Determined, ModelSortBy, OrderBy
from determined.experimental import core_v2

pytestmark = [pytest.mark.e2e, pytest.mark.slow]


@pytest.fixture(scope="module")
def client(cluster: Cluster) -> Iterator[Determined]:
    made = Determined(cluster.address, "admin", PASSWORD)
    yield made
    made._session.close()


@pytest.fixture(scope="module")
def uuid(client: Determined, tmp_path_factory: pytest.TempPathFactory) -> str:
    """A checkpoint of a trial that the cluster did not start."""
    storage = str(tmp_path_factory.mktemp("storage"))
    with core_v2.init_context(client=client, checkpoint_storage=storage) as context:
        context.train.report_validation_metrics(2, {"unmanaged": 0.5})
        with context.checkpoint.store_path({"steps_completed": 2}) as (path, made):
            (path / "w").write_text("1")
    return made


def det(cluster: Cluster, *words: str, code: int = 0) -> str:
    """Run one command; what it prints."""
    kept = {k: v for k, v in os.environ.items() if not k.startswith("DET_")}
    done = subprocess.run(
        [sys.executable, "-m", "determined.cli", *words],
        env={
            **kept,
            "PYTHONPATH": str(Path(__file__).parents[2] / "src"),
            "XDG_CONFIG_HOME": str(cluster.root / "config"),
            "DET_MASTER": cluster.address,
            "DET_USER": "admin",
            "DET_PASS": PASSWORD,
        },
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == code, done.stderr
    return done.stdout if code == 0 else done.stderr


def test_a_model_lives_its_life_by_commands(cluster: Cluster, uuid: str) -> None:
    made = json.loads(det(cluster, "model", "create", "cli m", "--description", "d", "--json"))
    assert (made["name"], made["description"], made["workspaceId"]) == ("cli m", "d", 1)
    assert "already" in det(cluster, "m", "create", "cli m", code=1)
    assert json.loads(det(cluster, "m", "describe", "cli m", "--json"))["modelVersion"] is None
    assert uuid in det(cluster, "m", "register-version", "cli m", uuid)
    answer = json.loads(det(cluster, "m", "register-version", "cli m", uuid, "--json"))
    second = answer["modelVersion"]
    assert (second["version"], second["checkpoint"]["uuid"]) == (2, uuid)
    listed = json.loads(det(cluster, "m", "list-versions", "cli m", "--json"))
    assert [version["version"] for version in listed["modelVersions"]] == [2, 1]
    assert uuid in det(cluster, "m", "list-versions", "cli m")
    table = det(cluster, "m", "describe", "cli m", "--version", "1")
    assert uuid in table
    assert "0.5" in table
    assert "version 7" in det(cluster, "m", "describe", "cli m", "--version", "7", code=1)
    options = ("--sort-by", "name", "--order-by", "desc", "-w", "Uncategorized,nowhere")
    assert "cli m" in det(cluster, "model", "list", *options)
    assert json.loads(det(cluster, "m", "ls", "-w", "nowhere", "--json")) == []
    assert "nowhere" in det(cluster, "m", "move", "cli m", "-w", "nowhere", code=1)
    det(cluster, "m", "move", "cli m", "-w", "Uncategorized")
    assert "registry" in det(cluster, "checkpoint", "delete", uuid, "--yes", code=1)
    det(cluster, "m", "delete", "cli m")
    assert 'model "cli m" not found' in det(cluster, "m", "describe", "cli m", code=1)


def test_a_model_lives_its_life_by_the_sdk(client: Determined, uuid: str) -> None:
    model = client.create_model("sdk m", "d", {"a": 1, "b": 2}, ["l"], "Uncategorized")
    assert model.get_version() is None
    version = model.register_version(uuid)
    assert (version.model_version, version.model_id) == (1, model.model_id)
    assert version.checkpoint is not None
    assert version.checkpoint.uuid == uuid
    model.add_metadata({"c": 3})
    model.remove_metadata(["a", "none"])
    model.set_labels(["x", "y"])
    model.set_description("dd")
    found = client.get_model(model.model_id or 0)
    assert (found.name, found.description, found.labels) == ("sdk m", "dd", ["x", "y"])
    assert found.metadata == {"b": 2, "c": 3}
    version.set_name("v one")
    version.set_notes("n")
    again = found.get_version(1)
    assert again is not None
    assert (again.name, again.notes) == ("v one", "n")
    assert [v.model_version for v in found.list_versions(OrderBy.ASC)] == [1]
    listed = client.list_models(ModelSortBy.NAME, OrderBy.DESC, name="SDK")
    assert [m.name for m in listed] == ["sdk m"]
    assert client.get_model_labels() == ["x", "y"]
    assert list(version.iter_metrics("validation")) == []
    found.archive()
    with pytest.raises(APIException, match="unarchive it first"):
        found.set_description("no")
    found.unarchive()
    found.move_to_workspace("Uncategorized")
    version.delete()
    found.delete()
    with pytest.raises(NotFoundException):
        client.get_model("sdk m")
