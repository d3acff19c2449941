"""From an empty project of GCP to a trained checkpoint, and back to nothing.

`det deploy gcp` and the master talk to an emulator of Google's APIs, which compares each call with
the discovery documents. The scripts of machines are run by bash, with real wheels, a real master
and a real agent. Checkpoints go to a local object storage by Google's XML interface.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from tests.backends.cloud.google_project import GoogleProject
from tests.backends.cloud.metadata_server import ON_GCP, gcp_metadata
from tests.backends.cloud.start_of_machine import Machine
from tests.backends.cloud.test_start_script import need_curl
from tests.cli.deploy.gcp.conftest import PROJECT, project_of_gcp
from tests.e2e.cloud_lab import MODEL, CloudLab, answers, closed, lab_directory, running, trial
from tests.e2e.cluster_api import PASSWORD, ClusterApi, until
from tests.object_server import ObjectServer, object_server

from determined.cli.deploy.gcp.master_config import TEMPLATE

pytestmark = [pytest.mark.e2e, pytest.mark.slow]

MASTER = "determined-lab-master"
DISK = "dev/disk/by-id/google-database"
CLUSTER = ("--cluster-id", "lab", "--project-id", PROJECT)


class GcpLab(CloudLab):
    """Machines of a project of GCP."""

    noun = "gcp"
    metadata = """\
  *metadata.google.internal*instance/name*) echo {id} ;;
  *metadata.google.internal*network-interfaces/0/ip*) echo 127.0.0.1 ;;
"""

    def __init__(
        self, gcp: GoogleProject, root: Path, metadata_url: str, objects: ObjectServer
    ) -> None:
        apis = gcp.variables()
        machines = {
            **apis,
            "GCE_METADATA_HOST": urlsplit(metadata_url).netloc,
            "STORAGE_EMULATOR_HOST": objects.url,
            "HOME": str(root),
        }
        key = {"GOOGLE_APPLICATION_CREDENTIALS": str(root / "key.json")}
        super().__init__(root, {**apis, **key}, machines)
        self.gcp = gcp
        self.objects = objects

    def script(self, instance: str) -> str:
        """The start script in the metadata of an instance."""
        items = self.gcp.instances[instance]["metadata"]["items"]
        return str({one["key"]: one["value"] for one in items}["startup-script"])

    def master(self) -> Machine:
        """The machine of the master, with the database's disk."""
        machine = self.machine(MASTER)
        (machine.root / DISK).parent.mkdir(parents=True)
        (machine.root / DISK).touch()
        return machine


@pytest.fixture
def lab(monkeypatch: pytest.MonkeyPatch) -> Iterator[GcpLab]:
    need_curl()
    with (
        lab_directory() as root,
        project_of_gcp(monkeypatch, root) as gcp,
        gcp_metadata({**ON_GCP, "instance/name": MASTER}) as metadata_url,
        object_server() as objects,
    ):
        yield GcpLab(gcp, root, metadata_url, objects)


def test_a_project_gets_a_cluster_that_trains_and_leaves_nothing(lab: GcpLab) -> None:
    out = lab.det(
        *("up", *CLUSTER, "--compute-agent-instance-type", "n1-standard-4", "--gpu-num", "0"),
        *("--master-config-template-path", str(lab.settings(TEMPLATE, "internal-ip", {}))),
        *("--max-idle-agent-period", "3s", "--initial-user-password", PASSWORD),
    )
    assert "The master is at http://203.0.113." in out
    assert [*lab.gcp.instances] == [MASTER]
    [bucket] = lab.gcp.storage.buckets
    lab.objects.request("PUT", bucket)
    cluster = ClusterApi(f"http://127.0.0.1:{lab.port}")
    machine = lab.master()
    lab.gcp.storage.refusals = 1
    booted = lab.boot_master(machine, lab.script(MASTER), str(machine.root / DISK))
    with running(booted, lab.log), closed(cluster):
        until(lambda: answers(cluster), 30, what="a log-in as admin")
        assert cluster.get("/info")["cluster_name"] == "lab"
        variables = {"STORAGE_EMULATOR_HOST": lab.objects.url}
        experiment = cluster.submit(trial(variables), {"train.py": MODEL})
        [agent] = until(lambda: lab.gcp.instances.keys() - {MASTER}, what="a machine for a trial")
        assert agent.startswith("determined-lab-")
        account = lab.gcp.instances[agent]["serviceAccounts"][0]["email"]
        assert account in lab.gcp.accounts.found
        lab.gcp.set_status(agent, "RUNNING")
        done = lab.machine(agent).run(lab.script(agent))
        assert done.returncode == 0, done.stdout + done.stderr
        assert cluster.wait(experiment) == "COMPLETED"
        [checkpoint] = cluster.get(f"/api/v1/experiments/{experiment}/checkpoints")["checkpoints"]
        assert f"{checkpoint['uuid']}/weights" in lab.objects.keys(bucket)
        until(lambda: lab.gcp.instances.keys() == {MASTER}, what="the end of the idle machine")
    gone = lab.det("down", *CLUSTER, "--yes")
    assert f"gcloud storage rm --recursive gs://{bucket}" in gone
    assert lab.gcp.instances == {}
    assert [*lab.gcp.resources] == [path for path in lab.gcp.resources if "/snapshots/" in path]
    assert "lab" not in lab.det("list", "--project-id", PROJECT)
