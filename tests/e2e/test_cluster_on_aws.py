"""From an empty account of AWS to a trained checkpoint, and back to nothing.

`det deploy aws` talks to moto. The scripts of its machines are run by bash, with real wheels, a
real master, real agents and a real Docker.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.backends.cloud.ec2_server import ACCOUNT_VARIABLES
from tests.backends.cloud.start_of_machine import Machine, unpacked
from tests.backends.cloud.test_start_script import need_curl
from tests.cli.deploy.aws.conftest import REGION, Aws, account_of_aws
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
from tests.e2e.taken_back import MODEL, config, has_begun
from tests.metadata_service import MetadataService, metadata_service

from determined_deploy.aws.resources.master_config import TEMPLATE

pytestmark = [
    pytest.mark.e2e,
    pytest.mark.slow,
    pytest.mark.docker,
    pytest.mark.xdist_group("docker"),
]


class AwsLab(CloudLab):
    """Machines of an account of AWS."""

    noun = "aws"
    metadata = """\
  *169.254.169.254*instance-id*) echo {id} ;;
  *169.254.169.254*local-ipv4*) echo 127.0.0.1 ;;
  *169.254.169.254*) echo token ;;
"""

    def __init__(self, aws: Aws, root: Path, docker: Daemon) -> None:
        account = {**ACCOUNT_VARIABLES, "AWS_ENDPOINT_URL": aws.url}
        super().__init__(root, {**account, "AWS_DEFAULT_REGION": REGION}, account)
        self.aws = aws
        self.docker = docker

    def machine(self, instance: str) -> Machine:
        made = super().machine(instance)
        made.stub("docker", f'exec {shutil.which("docker")} -H {self.docker.address} "$@"')
        made.stub(
            "lsblk", 'case "$*" in *-dnpo*) echo /dev/sdz Amazon disk ;; *) echo sdz ;; esac'
        )
        return made

    def script(self, instance: str) -> str:
        """The script in the user data of an instance, unpacked."""
        return unpacked(self.aws.user_script(instance))

    def instances(self) -> dict[str, str]:
        """Ids of machines that are not gone, with their names."""
        found = self.aws.client("ec2").describe_instances()["Reservations"]
        return {
            i["InstanceId"]: {tag["Key"]: tag["Value"] for tag in i["Tags"]}["Name"]
            for one in found
            for i in one["Instances"]
            if i["State"]["Name"] not in ("terminated", "shutting-down")
        }

    def boot_agent(self, instance: str, metadata: MetadataService) -> None:
        """Run the script of an agent's machine: it leaves the agent running."""
        machine = self.machine(instance)
        machine.environment |= {
            "AWS_EC2_METADATA_SERVICE_ENDPOINT": f"http://{metadata.address}",
            "DET_WORK_DIR": str(machine.root / "work"),
        }
        done = machine.run(self.script(instance))
        assert done.returncode == 0, done.stdout + done.stderr

    def end(self, instance: str) -> None:
        """End a machine with all that runs on it, as its cloud does."""
        kill_processes_of(self.root / instance)
        self.aws.client("ec2").terminate_instances(InstanceIds=[instance])

    def left(self) -> dict[str, list[str]]:
        """Resources of the account by kind, without data; moto keeps disks and addresses."""
        client = self.aws.client
        groups = client("ec2").describe_security_groups()["SecurityGroups"]
        templates = client("ec2").describe_launch_templates()["LaunchTemplates"]
        return {
            "machines": list(self.instances()),
            "groups": [g["GroupName"] for g in groups if g["GroupName"] != "default"],
            "templates": [t["LaunchTemplateName"] for t in templates],
            "log groups": [
                g["logGroupName"] for g in client("logs").describe_log_groups()["logGroups"]
            ],
            "roles": [r["RoleName"] for r in client("iam").list_roles()["Roles"]],
            "secrets": [s["Name"] for s in client("secretsmanager").list_secrets()["SecretList"]],
            "stacks": [
                s["StackName"] for s in client("cloudformation").describe_stacks()["Stacks"]
            ],
        }


@pytest.fixture
def lab(monkeypatch: pytest.MonkeyPatch, docker: Daemon) -> Iterator[AwsLab]:
    need_curl()
    with lab_directory() as root, account_of_aws(monkeypatch) as aws:
        try:
            yield AwsLab(aws, root, docker)
        finally:
            kill_processes_of(root)
            if left := docker.containers():
                docker.run("rm", "-f", *left)


def test_an_account_gets_a_cluster_that_trains_over_a_lost_machine_and_leaves_nothing(
    lab: AwsLab,
) -> None:
    storage = {"endpoint_url": lab.aws.url, "access_key": "testing", "secret_key": "testing"}
    settings = lab.settings(TEMPLATE, "local-ipv4", storage, lab.docker)
    out = lab.det(
        *("up", "--cluster-id", "lab", "--keypair", "ops", "--deployment-type", "simple"),
        *("--master-config-template-path", str(settings), "--spot"),
        *("--compute-agent-instance-type", "m6i.xlarge", "--max-idle-agent-period", "3s"),
        *("--initial-user-password", PASSWORD, "--log-group-prefix", "determined"),
    )
    assert "The master is at http://" in out
    [(master, name)] = lab.instances().items()
    assert name == "determined-lab-master"
    cluster = ClusterApi(f"http://127.0.0.1:{lab.port}")
    booted = lab.boot_master(lab.machine(master), lab.script(master), "/dev/sdz")
    with running(booted, lab.log), closed(cluster):
        until(lambda: answers(cluster), 30, what="a log-in as admin")
        assert cluster.get("/info")["cluster_name"] == "lab"
        experiment = cluster.submit(config({}), {"train.py": MODEL})
        [first] = until(lambda: lab.instances().keys() - {master}, what="a machine for the trial")
        journal = 'cloudwatch --group /determined/lab/journald --stream "$agent_id" --region'
        assert journal in lab.script(first)
        second = _train_until_taken_back(lab, cluster, experiment, master, first)
        with metadata_service() as metadata:
            lab.boot_agent(second, metadata)
            assert cluster.wait(experiment) == "COMPLETED"
            until(lambda: lab.instances().keys() == {master}, what="the end of the idle machine")
        [trial] = cluster.trials(experiment)
        assert trial["restarts"] == 0
        text = cluster.text(trial["id"])
        assert "its machine is taken back: AWS will terminate this spot machine at" in text
        assert re.search(f"{second} continues with \\d+ steps of {first}", text)
        checkpoints = cluster.get(f"/api/v1/experiments/{experiment}/checkpoints")["checkpoints"]
        [bucket] = lab.aws.client("s3").list_buckets()["Buckets"]
        listed = lab.aws.client("s3").list_objects_v2(Bucket=bucket["Name"])["Contents"]
        stored = {one["Key"] for one in listed}
        assert {f"{one['uuid']}/weights" for one in checkpoints} <= stored
    gone = lab.det("down", "--cluster-id", "lab", "--yes")
    assert f"aws s3 rb --force s3://{bucket['Name']}" in gone
    assert {kind: found for kind, found in lab.left().items() if found} == {}
    assert "lab" not in lab.det("list")


def _train_until_taken_back(
    lab: AwsLab, cluster: ClusterApi, experiment: int, master: str, first: str
) -> str:
    """Boot a machine, let AWS take it back while it trains; the machine that replaces it."""
    with metadata_service() as metadata:
        lab.boot_agent(first, metadata)
        until(lambda: has_begun(cluster, experiment), what="a first step")
        metadata.is_taken_back = True
        path = f"/api/v1/experiments/{experiment}/checkpoints"
        until(lambda: cluster.get(path)["checkpoints"], what="saved work")
        [second] = until(
            lambda: lab.instances().keys() - {master, first}, what="a machine that replaces it"
        )
        lab.end(first)
    return str(second)
