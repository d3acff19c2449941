"""From an empty project of GCP to a trained checkpoint over a lost machine, and back to nothing.

`det deploy gcp` and the master talk to an emulator of Google's APIs, which compares each call with
the discovery documents. The scripts of machines are run by bash, with real wheels, a real master,
real agents and a real Docker. Checkpoints go to a local object storage by Google's XML interface.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from tests.backends.cloud.google_project import GoogleProject
from tests.backends.cloud.metadata_server import ON_GCP, gcp_metadata
from tests.backends.cloud.start_of_machine import Machine
from tests.backends.cloud.test_start_script import need_curl
from tests.cli.deploy.gcp.conftest import PROJECT, project_of_gcp
from tests.docker_daemon import Daemon
from tests.e2e.cloud_lab import (
    CloudLab,
    answers,
    closed,
    kill_processes_of,
    lab_directory,
    running,
)
from tests.e2e.cluster_api import PASSWORD, ClusterApi, until
from tests.e2e.taken_back import MODEL, checkpoints, config, has_begun
from tests.metadata_service import MetadataService, metadata_service
from tests.object_server import ObjectServer, object_server

from determined_deploy.gcp.resources.master_config import TEMPLATE

pytestmark = [
    pytest.mark.e2e,
    pytest.mark.slow,
    pytest.mark.docker,
    pytest.mark.xdist_group("docker"),
]

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
        self,
        gcp: GoogleProject,
        root: Path,
        metadata_url: str,
        objects: ObjectServer,
        docker: Daemon,
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
        self.docker = docker

    def machine(self, instance: str) -> Machine:
        made = super().machine(instance)
        made.stub("docker", f'exec {shutil.which("docker")} -H {self.docker.address} "$@"')
        return made

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

    def agents(self) -> set[str]:
        """Machines that the master has started."""
        return self.gcp.instances.keys() - {MASTER}

    def boot_agent(self, instance: str, metadata: MetadataService) -> None:
        """Run the script of an agent's machine: it leaves the agent running."""
        machine = self.machine(instance)
        machine.environment |= {
            "GCE_METADATA_HOST": metadata.address,
            "DET_WORK_DIR": str(machine.root / "work"),
        }
        self.gcp.set_status(instance, "RUNNING")
        done = machine.run(self.script(instance))
        assert done.returncode == 0, done.stdout + done.stderr

    def end(self, instance: str) -> None:
        """End a machine with all that runs on it. Google keeps it, stopped, in its lists."""
        kill_processes_of(self.root / instance)
        self.gcp.set_status(instance, "TERMINATED")


@pytest.fixture
def lab(monkeypatch: pytest.MonkeyPatch, docker: Daemon) -> Iterator[GcpLab]:
    need_curl()
    with (
        lab_directory() as root,
        project_of_gcp(monkeypatch, root) as gcp,
        gcp_metadata({**ON_GCP, "instance/name": MASTER}) as metadata_url,
        object_server() as objects,
    ):
        try:
            yield GcpLab(gcp, root, metadata_url, objects, docker)
        finally:
            kill_processes_of(root)
            if left := docker.containers():
                docker.run("rm", "-f", *left)


def test_a_project_gets_a_cluster_that_trains_over_a_lost_machine_and_leaves_nothing(
    lab: GcpLab,
) -> None:
    settings = lab.settings(TEMPLATE, "internal-ip", {}, lab.docker)
    out = lab.det(
        *("up", *CLUSTER, "--compute-agent-instance-type", "n1-standard-4", "--gpu-num", "0"),
        *("--master-config-template-path", str(settings), "--preemptible", "true"),
        *("--max-idle-agent-period", "3s", "--initial-user-password", PASSWORD),
        "--cloud-logging",
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
        experiment = cluster.submit(config(variables), {"train.py": MODEL})
        [first] = until(lab.agents, what="a machine for the trial")
        assert first.startswith("determined-lab-")
        instance = lab.gcp.instances[first]
        assert instance["scheduling"]["preemptible"] is True
        assert instance["serviceAccounts"][0]["email"] in lab.gcp.accounts.found
        assert "printf ' %q' google" in lab.script(first)
        second = _train_until_taken_back(lab, cluster, experiment, first)
        with metadata_service() as metadata:
            lab.boot_agent(second, metadata)
            assert cluster.wait(experiment) == "COMPLETED"
            until(lambda: not lab.agents(), what="the end of the idle machine")
        [trial] = cluster.trials(experiment)
        assert trial["restarts"] == 0
        text = cluster.text(trial["id"])
        assert "its machine is taken back: Google preempts this machine" in text
        assert re.search(f"{second} continues with \\d+ steps of {first}", text)
        stored = lab.objects.keys(bucket)
        saved = {f"{one['uuid']}/weights" for one in checkpoints(cluster, experiment)}
        assert len(saved) == 2
        assert saved <= {*stored}
    gone = lab.det("down", *CLUSTER, "--yes")
    assert f"gcloud storage rm --recursive gs://{bucket}" in gone
    assert lab.gcp.instances == {}
    assert [*lab.gcp.resources] == [path for path in lab.gcp.resources if "/snapshots/" in path]
    assert "lab" not in lab.det("list", "--project-id", PROJECT)


def _train_until_taken_back(lab: GcpLab, cluster: ClusterApi, experiment: int, first: str) -> str:
    """Boot a machine, let GCP take it back while it trains; the machine that replaces it."""
    with metadata_service() as metadata:
        lab.boot_agent(first, metadata)
        until(lambda: has_begun(cluster, experiment), what="a first step")
        metadata.is_taken_back = True
        until(lambda: checkpoints(cluster, experiment), what="saved work")
        [second] = until(lambda: lab.agents() - {first}, what="a machine that replaces it")
        assert first in lab.agents()  # it was asked for before the first one was gone
        until(lambda: lab.docker.containers() == [], what="the end of the task on the first one")
        lab.end(first)
    return str(second)
