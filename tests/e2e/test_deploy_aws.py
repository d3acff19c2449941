"""From an empty account of AWS to a trained checkpoint, and back to nothing.

`det deploy aws` talks to moto. The scripts of its machines are run by bash, with real wheels, a
real master and a real agent. Only what a machine has and this one has not is a stub: systemd, the
metadata service, and pip's index.
"""

from __future__ import annotations

import base64
import contextlib
import json
import os
import shlex
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest
from tests.backends.cloud.ec2_server import ACCOUNT_VARIABLES
from tests.backends.cloud.start_of_machine import Machine
from tests.backends.cloud.test_start_script import need_curl
from tests.cli.deploy.aws.conftest import REGION, Aws, account_of_aws
from tests.e2e.cluster_api import PASSWORD, ClusterApi, until
from tests.free_ports import free_port

from determined.cli.deploy.aws.master_config import TEMPLATE

pytestmark = [pytest.mark.e2e, pytest.mark.slow]

PACKAGES = sysconfig.get_path("purelib")
MODEL = """
import pathlib
import determined as det

with det.core.init() as core:
    for step in range(1, 4):
        core.train.report_validation_metrics(step, {"loss": 1 / step})
    with core.checkpoint.store_path({"steps_completed": 3}) as (path, _):
        (path / "weights").write_text("trained on a machine on demand")
"""
METADATA = """
case "$*" in
  *169.254.169.254*instance-id*) echo {id} ;;
  *169.254.169.254*local-ipv4*) echo 127.0.0.1 ;;
  *169.254.169.254*) echo token ;;
  *) exec {curl} "$@" ;;
esac
"""


class Lab:
    """A directory for the machines of an account, and how to boot them."""

    def __init__(self, aws: Aws, root: Path) -> None:
        self.aws = aws
        self.root = root
        self.port = free_port()
        self.variables = {
            **{k: v for k, v in os.environ.items() if not k.startswith(("DET_", "AWS_"))},
            **ACCOUNT_VARIABLES,
            "AWS_ENDPOINT_URL": aws.url,
            "AWS_DEFAULT_REGION": REGION,
            "HOME": str(root),
            "PYTHONPATH": str(Path(__file__).parents[2] / "src"),
        }

    def det(self, *words: str) -> str:
        """What `det deploy aws` prints."""
        command = [sys.executable, "-m", "determined.cli", "deploy", "--no-wait-for-master", "aws"]
        done = subprocess.run(
            [*command, *words], env=self.variables, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def machine(self, instance: str) -> Machine:
        """A machine with Python, curl and a metadata service, and without a package index."""
        made = Machine(self.root / instance)
        curl = shutil.which("curl")
        made.stub("curl", METADATA.format(id=instance, curl=curl))
        made.stub("python3", f'exec {sys.executable} "$@"')
        made.stub("systemctl")
        made.stub(
            "lsblk", 'case "$*" in *-dnpo*) echo /dev/sdz Amazon disk ;; *) echo sdz ;; esac'
        )
        for name in ("blkid", "mountpoint", "mkfs.ext4", "mount", "resize2fs"):
            made.stub(name, {"blkid": "exit 2", "mountpoint": "exit 1"}.get(name, ""))
        made.environment = {
            **ACCOUNT_VARIABLES,
            "AWS_ENDPOINT_URL": self.aws.url,
            "PIP_NO_DEPS": "1",
            "PIP_NO_INDEX": "1",
            "PYTHONPATH": PACKAGES,
        }
        return made

    def script(self, instance: str) -> str:
        """The script in the user data of an instance."""
        found = self.aws.client("ec2").describe_instance_attribute(
            InstanceId=instance, Attribute="userData"
        )
        text = base64.b64decode(found["UserData"]["Value"]).decode()
        return text[text.index("#!/bin/bash") :].partition("\n--determined--")[0]

    def instances(self) -> dict[str, str]:
        """Ids of machines that are not gone, with their names."""
        found = self.aws.client("ec2").describe_instances()["Reservations"]
        return {
            i["InstanceId"]: {tag["Key"]: tag["Value"] for tag in i["Tags"]}["Name"]
            for one in found
            for i in one["Instances"]
            if i["State"]["Name"] not in ("terminated", "shutting-down")
        }

    def settings(self) -> Path:
        """The template of the master's settings, for machines that are all this one."""
        agent = {"container_runtime": "process", "work_dir": str(self.root / "work")}
        storage = {"endpoint_url": self.aws.url, "access_key": "testing", "secret_key": "testing"}
        text = TEMPLATE
        for old, new in (
            ("port: ${port}", f"port: {self.port}"),
            ("${scheme}://local-ipv4:${port}", f"http://127.0.0.1:{self.port}"),
            ("db: ${database}", f"db: {json.dumps({'data_dir': str(self.root / 'pg')})}"),
            ("${agent_config}", json.dumps(agent)),
            ("security: ${security}", "security: {allow_process_runtime: true}"),
            (
                "  bucket: ${bucket}",
                "".join(f"  {k}: {v}\n" for k, v in storage.items()) + "  bucket: ${bucket}",
            ),
        ):
            assert old in text
            text = text.replace(old, new)
        path = self.root / "template.yaml"
        path.write_text(text)
        return path

    def boot_master(self, instance: str) -> subprocess.Popen[bytes]:
        """Run the script of the master's machine, then what systemd would run."""
        machine = self.machine(instance)
        units = machine.root / "etc/systemd/system"
        units.mkdir(parents=True)
        for _ in range(2):  # it runs at each start
            done = machine.run(self.script(instance))
            assert done.returncode == 0, done.stdout + done.stderr
        assert "determined: the master is started" in done.stdout
        unit = (units / "determined-master.service").read_text()
        assigned = dict(line.partition("=")[::2] for line in unit.splitlines() if "=" in line)
        secrets = Path(assigned["EnvironmentFile"])
        assert secrets.stat().st_mode & 0o077 == 0
        values = dict(line.partition("=")[::2] for line in secrets.read_text().splitlines())
        assert machine.calls("mkfs.ext4")[0] == ["-q", "/dev/sdz"]
        with (self.root / "master.log").open("wb") as log:
            return subprocess.Popen(
                shlex.split(assigned["ExecStart"]),
                env={
                    **os.environ,
                    **machine.environment,
                    "DETERMINED_ROOT": str(machine.root),
                    **{name: json.loads(value) for name, value in values.items()},
                },
                stdout=log,
                stderr=subprocess.STDOUT,
            )


@pytest.fixture
def lab(monkeypatch: pytest.MonkeyPatch) -> Iterator[Lab]:
    need_curl()
    root = Path(tempfile.mkdtemp(prefix="det-e2e-", dir="/tmp"))
    root.chmod(0o711)
    try:
        with account_of_aws(monkeypatch) as aws:
            yield Lab(aws, root)
    finally:
        for process in psutil.process_iter(["environ"]):
            place = (process.info["environ"] or {}).get("DETERMINED_ROOT", "")
            if place.startswith(str(root)):
                with contextlib.suppress(psutil.NoSuchProcess):
                    process.kill()
        shutil.rmtree(root, ignore_errors=True)


@contextlib.contextmanager
def running(process: subprocess.Popen[bytes], log: Path) -> Iterator[None]:
    """Stopped at the end as systemd stops it; what it has logged is shown after a failure."""
    try:
        yield
    except BaseException:
        sys.stdout.write(log.read_text())
        raise
    finally:
        process.terminate()
        process.wait(60)


@contextlib.contextmanager
def closed(cluster: ClusterApi) -> Iterator[None]:
    """Its sessions are closed at the end."""
    try:
        yield
    finally:
        cluster.close_sessions()


def test_an_account_gets_a_cluster_that_trains_and_leaves_nothing(lab: Lab) -> None:
    out = lab.det(
        *("up", "--cluster-id", "lab", "--keypair", "ops", "--deployment-type", "simple"),
        *("--master-config-template-path", str(lab.settings())),
        *("--compute-agent-instance-type", "m6i.xlarge", "--max-idle-agent-period", "3s"),
        *("--initial-user-password", PASSWORD),
    )
    assert "The master is at http://" in out
    [(master, name)] = lab.instances().items()
    assert name == "determined-lab-master"
    cluster = ClusterApi(f"http://127.0.0.1:{lab.port}")
    log = lab.root / "master.log"
    with running(lab.boot_master(master), log), closed(cluster):
        until(lambda: _answers(cluster), 30, what="a log-in as admin")
        assert cluster.get("/info")["cluster_name"] == "lab"
        experiment = cluster.submit(
            {
                "name": "on demand",
                "entrypoint": "python3 train.py",
                "searcher": {"name": "single", "metric": "loss"},
                "max_restarts": 0,
                # The tasks' image has obstore.
                "environment": {"environment_variables": [f"PYTHONPATH={PACKAGES}"]},
            },
            {"train.py": MODEL},
        )
        [agent] = until(lambda: lab.instances().keys() - {master}, what="a machine for the trial")
        booted = lab.machine(agent).run(lab.script(agent))
        assert booted.returncode == 0, booted.stdout + booted.stderr
        assert cluster.wait(experiment) == "COMPLETED"
        [checkpoint] = cluster.get(f"/api/v1/experiments/{experiment}/checkpoints")["checkpoints"]
        [bucket] = lab.aws.client("s3").list_buckets()["Buckets"]
        listed = lab.aws.client("s3").list_objects_v2(Bucket=bucket["Name"])["Contents"]
        assert f"{checkpoint['uuid']}/weights" in {one["Key"] for one in listed}
        until(lambda: lab.instances().keys() == {master}, what="the end of the idle machine")
    gone = lab.det("down", "--cluster-id", "lab", "--yes")
    assert f"aws s3 rb --force s3://{bucket['Name']}" in gone
    assert lab.instances() == {}
    assert "lab" not in lab.det("list")


def _answers(cluster: ClusterApi) -> Any:
    with contextlib.suppress(Exception):
        return cluster.session()
    return None
