"""Machine images by docs/provisioning.md: built, booted by systemd, and a task on demand on them.

cloud-init, the metadata service at its own address, Docker and the start script are real. EC2 is
moto, and a machine has no kernel and no BIOS of its own. Needs root, debootstrap and Debian's
packages.
"""

from __future__ import annotations

import base64
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from tests.backends.cloud.ec2_server import ACCOUNT_VARIABLES, IMAGE, application
from tests.backends.cloud.http_servers import Quiet, serving, stopped_at_the_end
from tests.booted_machine import BootedMachine, CannotBoot, booted
from tests.cli.deploy.aws.conftest import REGION, Aws, account_of_aws
from tests.e2e.cluster_api import until
from tests.e2e.network import CannotRun, Namespace, namespace
from tests.kept_trees import unpack
from tests.machine_metadata import MachineMetadata, metadata_at_home
from tests.machine_roots import BUILD, build, packages, packed_root
from tests.pages import commands_on
from tests.watchdog import Watchdog
from werkzeug.serving import make_server

from determined_master.backends.cloud.start_script import Boot, Identity, start_script

pytestmark = [
    pytest.mark.e2e,
    pytest.mark.slow,
    pytest.mark.docker,
    pytest.mark.xdist_group("docker"),
]
PAGE = "provisioning.md"
SETTINGS = """\
log: {{level: warn}}
resource_pools:
  - pool_name: small
    provider:
      type: aws
      instance_type: t2.medium
      image_id: {image}
      ssh_key_name: ops
      cpu_slots_allowed: true
      max_instances: 1
      max_idle_agent_period: 10s
      startup_script: docker import /root/bare.tar bare
      container_startup_script: |
        export HOME=/root
        words=(configure docker)
        mkdir -p "$HOME/.docker"
        echo '{{"credsStore": "lab"}}' >"$HOME/.docker/config.json"
        cat >/usr/bin/docker-credential-lab <<'END'
        #!/bin/sh
        echo "$* $(cat) HOME=$HOME" >>/root/asked
        echo '{{"Username": "lab", "Secret": "lab"}}'
        END
        chmod "${{words[0]:+755}}" /usr/bin/docker-credential-lab
resource_manager:
  default_compute_resource_pool: small
  default_aux_resource_pool: small
task_container_defaults: {{image: bare, network_mode: host}}
checkpoint_storage: {{type: s3, bucket: checkpoints}}
"""
ON_AWS = """\
# As AWS's own images have it. No BIOS of a container names the cloud, and its network is made.
datasource_list: [Ec2, None]
datasource: {Ec2: {strict_id: false}}
network: {config: disabled}
"""


class Files(NamedTuple):
    """Roots of both images, and the archive of the system that they were made of."""

    agent: Path
    master: Path
    packed: Path


@pytest.fixture(scope="module")
def directory() -> Iterator[Path]:
    found = Path(tempfile.mkdtemp(prefix="det-images-", dir="/tmp"))
    found.chmod(0o755)
    with Watchdog(found):
        try:
            yield found
        finally:
            shutil.rmtree(found)


@pytest.fixture(scope="module")
def images(directory: Path) -> Files:
    """The agent's image from a directory, the master's on a machine that runs."""
    try:
        packed = packed_root()
        roots = [unpack(packed, directory / name) for name in ("agent", "master")]
        source = packages(directory / "packages", roots[0])
        build("agent", roots[0], source)
        with booted(roots[1]) as machine:
            _copy_checkout(roots[1] / "root/determined", source)
            for command in commands_on(PAGE, "the machine of the master"):
                as_root = _as_root(command)
                _check_question(machine, as_root)
                said = machine.run("sh", "-c", f"cd; echo y | {as_root}")
                assert "/ is an image of the master" in said
            machine.run("rm", "-r", "/root/determined")
    except CannotBoot as error:
        pytest.skip(f"no machine image here: {error}")
    shutil.rmtree(source)
    return Files(*roots, packed)


def _check_question(machine: BootedMachine, command: str) -> None:
    """Without a yes, or on a machine in use, nothing is removed."""
    key, data = machine.root / "root/.ssh/id", machine.root / "var/lib/determined/data"
    for path in (key, data):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    used = machine.try_to_run("sh", "-c", f"cd; echo y | {command}")
    assert (used.returncode, "begin with a new machine" in used.stderr) == (1, True)
    shutil.rmtree(data.parent)
    refused = machine.try_to_run("sh", "-c", f"cd; {command} </dev/null")
    assert (refused.returncode, "nothing was changed" in refused.stderr) == (1, True)
    assert key.exists()


def _copy_checkout(target: Path, source: Path) -> None:
    """What the page copies, and the packages of the tests: their index may be out of reach."""
    shutil.copytree(BUILD.parents[1], target / "deploy")
    shutil.copytree(source, target / "packages")


def _as_root(command: str) -> str:
    """Without sudo, which a minimal root does not have; with the packages beside the checkout."""
    assert command.startswith("sudo ")
    return f"PACKAGES=/root/determined/packages {command.removeprefix('sudo ')}"


def test_an_image_has_no_identity_of_a_machine_and_enables_nothing(images: Files) -> None:
    for root in (images.agent, images.master):
        assert (root / "etc/machine-id").read_text() == ""
        assert not [*root.glob("etc/ssh/ssh_host_*"), *root.glob("etc/determined/*")]
        assert not [*root.glob("var/lib/cloud/*"), *root.glob("root/determined")]
        assert not [*root.glob("etc/systemd/system/*/determined-*")]


class Lab(NamedTuple):
    """A network with a metadata service and EC2, in which machines boot."""

    network: Namespace
    metadata: MachineMetadata
    aws: Aws
    aws_url: str
    """Where machines reach EC2."""

    @property
    def prefix(self) -> tuple[str, ...]:
        """Boots a machine in this network."""
        return ("nsenter", f"--net=/run/netns/{self.network.name}")

    def instances(self) -> dict[str, str]:
        """Ids and states."""
        found = self.aws.client("ec2").describe_instances()["Reservations"]
        return {i["InstanceId"]: i["State"]["Name"] for one in found for i in one["Instances"]}

    def user_data(self, instance: str) -> str:
        """As the machine gets it."""
        found = self.aws.client("ec2").describe_instance_attribute(
            InstanceId=instance, Attribute="userData"
        )
        return base64.b64decode(found["UserData"]["Value"]).decode()

    def is_machine(self, instance: str, user_data: str) -> None:
        """Who asks the metadata service from now on."""
        self.metadata.items = {
            "instance-id": instance,
            "local-ipv4": self.network.there,
            "placement/availability-zone": f"{REGION}a",
            "placement/region": REGION,
        }
        self.metadata.document = json.dumps({"instanceId": instance, "region": REGION})
        self.metadata.user_data = user_data


@pytest.fixture
def lab(monkeypatch: pytest.MonkeyPatch) -> Iterator[Lab]:
    try:
        with namespace() as network, account_of_aws(monkeypatch) as aws:
            server = make_server(network.here, 0, application(), threaded=True)
            server.daemon_threads = True  # type: ignore[attr-defined]
            with stopped_at_the_end(server), metadata_at_home(network.name) as metadata:
                yield Lab(network, metadata, aws, f"http://{network.here}:{server.server_port}")
    except CannotRun as error:
        pytest.skip(f"no network for machines here: {error}")


def test_a_machine_of_each_image_boots_and_a_task_runs_on_demand(
    images: Files, lab: Lab, directory: Path
) -> None:
    lab.is_machine("i-master", "")
    with booted(images.master, lab.prefix) as master:
        _enable(master, lab)
        _check_journal(master, lab)
        det = Det(lab.network.there, _password(master), directory)
        det("user", "login", "admin", stdin=det.password)
        task = det("command", "run", "--detach", "echo", "ran", "on", "demand").split()[-1]
        [instance] = until(lab.instances, what="a machine for the task")
        for name, text in (
            ("cloud/cloud.cfg.d/95_aws.cfg", ON_AWS),
            # One kernel for all: its packet filter and its overlays belong to the tests' machine.
            ("docker/daemon.json", '{"bridge": "none", "iptables": false}'),
        ):
            path = images.agent / "etc" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        # Python alone, as the image of a task, for the startup script.
        shutil.copyfile(images.packed, images.agent / "root/bare.tar")
        lab.is_machine(instance, lab.user_data(instance))
        with booted(images.agent, lab.prefix) as agent:
            try:
                until(lambda: instance in det("agent", "list"), what="the agent")
                until(lambda: "ran on demand" in det("task", "logs", task), what="the task")
            except AssertionError:
                sys.stdout.write(agent.journal()[-6000:] + master.journal()[-3000:])
                sys.stdout.write(det("task", "logs", task))
                raise
            assert agent.run("systemctl", "is-active", "determined-agent") == "active\n"
            image = f"{lab.network.there}:9/lab/tool:1"
            det("command", "run", "--detach", "--config", f"environment.image={image}", "true")
            asked = images.agent / "root/asked"
            until(asked.exists, what="a question of the agent to its credential helper")
            assert asked.read_text() == f"get {lab.network.there}:9 HOME=/root\n"
            until(lambda: lab.instances()[instance] == "terminated", what="the machine's end")


def test_an_agent_whose_script_fails_is_reported_with_its_last_lines(
    images: Files, lab: Lab
) -> None:
    reports: list[dict[str, Any]] = []

    class Master(Quiet):
        def do_POST(self) -> None:
            reports.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
            self.reply(200, b"{}")

    lab.is_machine("i-broken", "")
    with (
        serving(Master, lab.network.here) as url,
        booted(images.agent, lab.prefix) as agent,
    ):
        told = Boot(
            resource_pool="small",
            image="",
            master_host=lab.network.here,
            master_port=int(url.rpartition(":")[2]),
            identity=Identity("echo i-broken", f"echo {lab.network.there}"),
            join_token="t",
            container_startup_script="echo one; echo no such registry >&2; exit 4\n",
        )
        agent.run("bash", "-s", stdin=start_script(told))
        until(lambda: [r for r in reports if r["failed"]], what="a report")
        failed = next(r for r in reports if r["failed"])
        assert "one no such registry the container startup script ended" in failed["detail"]


def _check_journal(master: BootedMachine, lab: Lab) -> None:
    """The page's commands send the journal of the machine to the group of the documents."""
    shown = f"AWS_ENDPOINT_URL={lab.aws_url}\n"
    shown += "".join(f"{k}={v}\n" for k, v in ACCOUNT_VARIABLES.items() if "ID" in k or "KEY" in k)
    for command in commands_on(PAGE, "the machine of any master"):
        if "systemctl" in command:
            with (master.root / "etc/determined/journal.env").open("a") as file:
                file.write(shown)
        master.run("sh", "-c", command.replace("sudo ", ""))
    logs = lab.aws.client("logs")
    group = "/determined/determined/journald"

    def sent() -> bool:
        groups = logs.describe_log_groups(logGroupNamePrefix=group)["logGroups"]
        if not groups:
            return False
        pages = logs.get_paginator("filter_log_events").paginate(
            logGroupName=group, logStreamNames=["i-master"]
        )
        lines = [event["message"] for page in pages for event in page["events"]]
        return any(line.startswith("determined-master: ") for line in lines)

    until(sent, what="the master's journal in CloudWatch")


def _enable(master: BootedMachine, lab: Lab) -> None:
    variables = {**ACCOUNT_VARIABLES, "AWS_ENDPOINT_URL": lab.aws_url}
    del variables["AWS_EC2_METADATA_DISABLED"]
    (master.root / "etc/determined/master.env").write_text(
        "".join(f"{name}={value}\n" for name, value in variables.items())
    )
    (master.root / "root/master.yaml").write_text(SETTINGS.format(image=IMAGE))
    for command in commands_on(PAGE, "the machine of the master's image"):
        said = master.run("sh", "-c", f"cd; {command.removeprefix('sudo ')}")
        assert f"the master answers at http://{lab.network.there}:8080" in said
        assert _password(master) not in said + master.journal()


def _password(master: BootedMachine) -> str:
    text = master.run("cat", "/etc/determined/master.env")
    return dict(line.partition("=")[::2] for line in text.splitlines())[
        "DET_SECURITY_INITIAL_USER_PASSWORD"
    ]


class Det:
    """The command line on another computer."""

    def __init__(self, host: str, password: str, home: Path) -> None:
        self.password = password
        kept = {k: v for k, v in os.environ.items() if not k.startswith("DET_")}
        self._environment = {**kept, "DET_MASTER": f"http://{host}:8080", "HOME": str(home)}
        self._environment |= {"DET_PASS": password, "DET_USER": "admin"}

    def __call__(self, *words: str, **more: Any) -> str:
        """What it prints."""
        command = [sys.executable, "-m", "determined.cli", *words]
        if "stdin" in more:
            del self._environment["DET_PASS"], self._environment["DET_USER"]
        done = subprocess.run(
            command,
            env=self._environment,
            input=f"{more.get('stdin', '')}\n",
            capture_output=True,
            text=True,
            check=False,
            timeout=120,
        )
        assert done.returncode == 0, (words, done.stdout, done.stderr)
        return done.stdout


def test_a_master_that_cannot_start_is_reported_with_its_last_lines(images: Files) -> None:
    with booted(images.master, ("unshare", "--net")) as master:
        master.run("sh", "-c", "echo 'port: none' >/root/wrong.yaml")
        done = master.try_to_run("enable-master", "/root/wrong.yaml")
        assert done.returncode == 1
        assert "the master ends at its start" in done.stderr
        assert "port" in done.stderr
        assert master.try_to_run("enable-master", "/root/none.yaml").returncode == 1
