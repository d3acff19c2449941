"""The images of the agent and of the master, built and run in a Docker daemon."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest
from tests.backends.cloud.ec2_server import ACCOUNT_VARIABLES
from tests.cli.deploy.aws.conftest import REGION, account_of_aws
from tests.covers import covers
from tests.deploy.installed import install
from tests.docker_daemon import IMAGE, Daemon
from tests.e2e import scripts
from tests.e2e.cluster_api import PASSWORD, ClusterApi, until
from tests.e2e.docker_cluster import config
from tests.free_ports import free_port

from determined_wire.release import VERSION

BUILD = Path(__file__).parents[2] / "deploy" / "build-image"
AGENT, MASTER = "determined-agent:test", "determined-master:test"
SCRIPT = "/usr/local/determined/container_startup_script"

pytestmark = [
    pytest.mark.e2e,
    pytest.mark.slow,
    pytest.mark.docker,
    pytest.mark.xdist_group("docker"),
]


class Machine(NamedTuple):
    """A daemon that has both images, and a directory that it and its containers share."""

    docker: Daemon
    root: Path

    def run(self, name: str, image: str, *arguments: str, options: tuple[str, ...] = ()) -> None:
        """Start a container on the machine's network."""
        shared = ("--volume", f"{self.root}:{self.root}")
        self.docker.run(
            *("run", "--detach", "--name", name, "--network", "host"),
            *(*shared, *options, image, *arguments),
        )

    def said(self, name: str) -> str:
        """What a container has written."""
        done = subprocess.run(
            ["docker", "-H", self.docker.address, "logs", name],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        return done.stdout

    def names(self) -> list[str]:
        """Of all containers."""
        return self.docker.run("ps", "--all", "--format", "{{.Names}}").split()


@pytest.fixture(scope="module")
def machine(docker: Daemon) -> Iterator[Machine]:
    version = "import sys; print(*sys.version_info[:2], sep='.')"
    has = docker.run("run", "--rm", "--network", "host", IMAGE, "python3", "-c", version)
    own = f"{sys.version_info[0]}.{sys.version_info[1]}"
    if has != own:
        pytest.skip(f"the tests' packages are for Python {own}, the image has {has}")
    root = Path(tempfile.mkdtemp(prefix="det-images-", dir="/tmp"))
    root.chmod(0o777)
    made = Machine(docker, root)
    try:
        install(root / "packages", "agent", "master", "aws")
        for part, image in (("agent", AGENT), ("master", MASTER)):
            env = {
                "PATH": os.environ["PATH"],
                "HOME": str(root),
                "DOCKER_HOST": docker.address,
                "BASE": IMAGE,
                "PACKAGES": str(root / "packages"),
            }
            subprocess.run(
                [str(BUILD), part, image], env=env, check=True, capture_output=True, timeout=900
            )
        shutil.rmtree(root / "packages")
        yield made
    finally:
        for name in made.names():
            docker.run("rm", "--force", "--volumes", name)
        for image in (AGENT, MASTER):
            if docker.run("images", "--quiet", image):
                docker.run("rmi", "--force", image)
        shutil.rmtree(root)


@pytest.fixture
def cluster() -> Iterator[ClusterApi]:
    """A master at an address; the test starts it."""
    made = ClusterApi(f"http://127.0.0.1:{free_port()}")
    yield made
    made.close_sessions()


@covers("agent-config 6.image")
def test_the_agents_image_runs_its_script_joins_a_master_and_starts_tasks(
    machine: Machine, cluster: ClusterApi
) -> None:
    """The master runs from its image too, with a database of its own."""
    port = cluster.address.rpartition(":")[2]
    settings = {
        "task_container_defaults": {"network_mode": "host", "image": IMAGE},
        "checkpoint_storage": {
            "type": "shared_fs",
            "host_path": str(machine.root / "storage"),
            "create": True,
        },
        "security": {"agent_join": "open"},
    }
    (machine.root / "master.yaml").write_text(json.dumps(settings))
    machine.run(
        "master",
        MASTER,
        *("--config-file", str(machine.root / "master.yaml")),
        *("--host", "127.0.0.1", "--port", port),
        *("--security-initial-user-password", PASSWORD),
    )
    script = machine.root / "script"
    script.write_text("[[ x == x ]] && echo the script ran before\n")  # bash runs it
    machine.run(
        "agent",
        AGENT,
        *("--master-host", "127.0.0.1", "--master-port", port),
        *("--agent-id", "boxed", "--work-dir", str(machine.root / "agent")),
        *("--artificial-slots", "1", "--docker-host", machine.docker.address),
        options=(
            *("--volume", f"{script}:{SCRIPT}:ro"),
            *("--volume", f"{machine.docker.socket}:{machine.docker.socket}"),
            *("--env", f"HARNESS_DIR={machine.root}/harness"),
        ),
    )
    until(lambda: "the script ran before" in machine.said("agent"), what="the start-up script")
    try:
        until(lambda: answers(cluster), what="an answer of the master")
        until(lambda: cluster.connected() == ["boxed"], what="the agent")
    except AssertionError:
        sys.stdout.write(machine.said("master")[-3000:] + machine.said("agent")[-3000:])
        raise
    environment = {"environment_variables": [f"LEDGER={machine.root}", "STEPS=2"]}
    mounts = [{"host_path": str(machine.root), "container_path": str(machine.root)}]
    submitted = config(
        "python3 t.py",
        environment=environment,
        hyperparameters={"quality": 0.5},
        bind_mounts=mounts,
    )
    experiment = cluster.submit(submitted, {"t.py": scripts.LEDGER})
    assert cluster.wait(experiment) == "COMPLETED"
    assert [path.name for path in (machine.root / "harness").glob("*/determined")] == [
        "determined"
    ]
    until(lambda: sorted(machine.names()) == ["agent", "master"], what="the task's removal")
    machine.docker.run("stop", "agent", "master")
    for name in ("agent", "master"):
        code = machine.docker.run("inspect", "--format", "{{.State.ExitCode}}", name)
        assert code == "0", machine.said(name)[-2000:]


def answers(cluster: ClusterApi) -> bool:
    """Whether the master lists its agents by now."""
    try:
        cluster.connected()
    except Exception:
        return False
    return True


@covers("agent-config 6.image")
def test_a_start_up_script_that_fails_is_named_and_no_agent_starts(machine: Machine) -> None:
    script = machine.root / "failing"
    script.write_text("#!/bin/sh\necho this cannot work\nexit 7\n")
    script.chmod(0o755)
    machine.run("failing", AGENT, "version", options=("--volume", f"{script}:{SCRIPT}:ro"))
    assert machine.docker.run("wait", "failing") == "1"
    said = machine.said("failing")
    assert "this cannot work" in said
    assert f"{SCRIPT} ended with exit code 7: the agent is not started" in said
    assert "configuration:" not in said


def test_without_a_script_the_image_is_the_agents_command(machine: Machine) -> None:
    said = machine.docker.run(
        *("run", "--rm", "--network", "host"),
        *("--env", f"HARNESS_DIR={machine.root}/harness", AGENT, "version"),
    )
    assert said.startswith("determined-agent ")


def test_images_have_labels_and_the_master_is_not_root(machine: Machine) -> None:
    for image, title, user in (
        (MASTER, "determined-master", "703:703"),
        (AGENT, "determined-agent", ""),
    ):
        (found,) = json.loads(machine.docker.run("inspect", image))
        labels = found["Config"]["Labels"]
        oci = "org.opencontainers.image"
        assert labels[f"{oci}.title"] == title
        assert labels[f"{oci}.version"] == VERSION
        assert labels[f"{oci}.licenses"] == "Apache-2.0"
        assert labels[f"{oci}.base.name"] == IMAGE
        assert f"{oci}.revision" in labels
        assert found["Config"]["User"] == user


def test_the_builder_names_what_it_lacks() -> None:
    for arguments, said in (((), "task-rocm TAG"), (("agent",), "name the image")):
        done = subprocess.run(
            [str(BUILD), *arguments], capture_output=True, text=True, check=False
        )
        assert done.returncode == 2
        assert said in done.stderr


def test_the_agents_image_sends_the_journal_of_its_machine(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By the machine's program, which the image has not: here one that prints a file."""
    entry = {"__CURSOR": "1", "__REALTIME_TIMESTAMP": str(time.time_ns() // 1000)}
    entry |= {"_SYSTEMD_UNIT": "docker.service", "MESSAGE": "one"}
    outside = machine.root / "journal"
    outside.mkdir()
    (outside / "lines").write_text(json.dumps(entry) + "\n")
    program = f"sh -c 'cat {outside}/lines; exec sleep 600'"
    with account_of_aws(monkeypatch) as aws:
        logs = aws.client("logs")
        variables = {**ACCOUNT_VARIABLES, "AWS_ENDPOINT_URL": os.environ["AWS_ENDPOINT_URL"]}
        machine.docker.run(
            *("run", "--detach", "--init", "--name", "journal", "--network", "host"),
            *("--security-opt", "label=disable", "--volume", "/:/machine:ro"),
            *("--entrypoint", "python3"),
            *(word for name, value in variables.items() for word in ("--env", f"{name}={value}")),
            *(AGENT, "-m", "determined_agent.journal", "--every", "0.5"),
            *("--journalctl", f"chroot /machine {program}", "cloudwatch"),
            *("--stream", "i-1", "--region", REGION),
        )

        def messages() -> list[str]:
            group = "/determined/determined/journald"
            if not logs.describe_log_groups(logGroupNamePrefix=group)["logGroups"]:
                return []
            events = logs.filter_log_events(logGroupName=group)["events"]
            return [event["message"] for event in events]

        try:
            until(lambda: messages() == ["docker: one"], what="the entry")
        except AssertionError:
            sys.stdout.write(machine.said("journal"))
            raise
