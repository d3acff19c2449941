"""Pages on clouds: their commands run as they stand, in order, in a root with Python alone.

AWS is moto, GCP the emulator. The cluster that the reader then logs in to runs on this machine:
tests/deploy boots those that the commands make. Needs root, debootstrap and Debian's packages.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.backends.cloud.ec2_server import ACCOUNT_VARIABLES
from tests.booted_machine import CannotBoot
from tests.cli.deploy.aws.conftest import REGION, account_of_aws
from tests.cli.deploy.gcp.conftest import project_of_gcp
from tests.e2e.cluster import Cluster
from tests.e2e.cluster_api import PASSWORD
from tests.kept_trees import unpack
from tests.machine_roots import packages, packed_root
from tests.pages import commands, stale, unexplained
from tests.watchdog import Watchdog

pytestmark = [pytest.mark.e2e, pytest.mark.slow]

PAGES = ("deploy-aws.md", "deploy-gcp.md", "provisioning.md")
NOT_RUN = {
    "aws ": "the AWS CLI is no part of the project, and moto makes no images that boot",
    "gcloud ": "gcloud is no part of the project",
    "det deploy aws prices": "moto has no price list: tests/cli/deploy/aws/test_prices.py has one",
    "python -m determined_wire.locked": "tests/wheelhouses.py fills a directory by the same lock",
    "pip download": "it needs an index: tests/backends/cloud/test_host_agent.py has wheels",
    "sudo determined/deploy/images/build": "tests/e2e/test_machine_images.py runs it",
    "sudo enable-master": "tests/e2e/test_machine_images.py runs it",
    "echo 'DETERMINED_JOURNAL=": "tests/e2e/test_machine_images.py writes it",
    "sudo systemctl enable --now determined-journal": "tests/e2e/test_machine_images.py does it",
}
"""Commands of the pages that are not run here, by their beginning, and why."""
ADDRESS = "http://198.51.100.7:8080"
"""The address that the pages have for that which `up` prints."""
CONFIG = """\
name: first
entrypoint: python3 train.py
searcher: {name: single, metric: loss}
"""
MODEL = """\
import determined as det

with det.core.init() as core:
    core.train.report_validation_metrics(1, {"loss": 0.5})
"""


class Reader:
    """Somebody with a root of Python and the packages of the extras, in an empty directory."""

    def __init__(self, root: Path, variables: dict[str, str]) -> None:
        self._root = root
        self._variables = dict(variables)
        self.home = root / "home/reader"
        self.home.mkdir(parents=True)

    def do(self, command: str) -> str:
        """Run a command of a page; what it prints. It must succeed.

        `up` does not wait: no machine boots in an emulated cloud. Questions are answered with yes,
        and that for a password with the password.
        """
        if exported := re.fullmatch(r"export (\w+)=(\S+)", command):
            self._variables[exported[1]] = exported[2]
            return ""
        answer = PASSWORD if "login" in command else "y"
        command = re.sub(
            r"^det deploy (aws|gcp) up", r"det deploy --no-wait-for-master \1 up", command
        )
        variables = {"HOME": "/home/reader", "PYTHONPATH": "/packages", **self._variables}
        done = subprocess.run(
            [
                *("chroot", str(self._root), "env", "-i", "-C", "/home/reader"),
                *("PATH=/usr/local/bin:/usr/bin:/bin", "LANG=C.UTF-8"),
                *(f"{name}={value}" for name, value in variables.items()),
                *("/bin/sh", "-ec", command),
            ],
            input=f"{answer}\n",
            capture_output=True,
            text=True,
            check=False,
            timeout=240,
        )
        assert done.returncode == 0, (command, done.stdout[-3000:], done.stderr[-3000:])
        return done.stdout

    def follow(self, page: str, cluster: Cluster) -> dict[str, str]:
        """Do all that a page says; what each command printed."""
        (self.home / "config.yaml").write_text(CONFIG)
        (self.home / "train.py").write_text(MODEL)
        return {
            line: self.do(line.replace(ADDRESS, cluster.address))
            for line in commands(page)
            if not line.startswith(tuple(NOT_RUN))
        }


@pytest.fixture
def root() -> Iterator[Path]:
    directory = Path(tempfile.mkdtemp(prefix="det-pages-", dir="/tmp"))
    with Watchdog(directory):
        try:
            made = unpack(packed_root(), directory / "root")
            packages(made / "packages", made)
            command = made / "usr/local/bin/det"
            command.write_text('#!/bin/sh\nexec python3 -m determined.cli "$@"\n')
            command.chmod(0o755)
            yield made
        except CannotBoot as error:
            pytest.skip(f"no root of a machine here: {error}")
        finally:
            shutil.rmtree(directory)


def test_the_page_of_aws_works_as_it_stands(
    root: Path, cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    with account_of_aws(monkeypatch) as aws:
        variables = {**ACCOUNT_VARIABLES, "AWS_ENDPOINT_URL": aws.url}
        reader = Reader(root, {**variables, "AWS_DEFAULT_REGION": REGION})
        said = reader.follow("deploy-aws.md", cluster)
    [up] = [text for line, text in said.items() if " aws up " in line]
    assert re.search(r"The master is at http://[\d.]+:8080", up)
    assert "assword" in up
    assert "Created experiment" in said["det experiment create config.yaml ."]
    assert "lab" in said["det deploy aws list --region us-west-2"]
    [down] = [text for line, text in said.items() if " aws down " in line]
    assert "aws s3 rb --force s3://" in down


def test_the_page_of_gcp_works_as_it_stands(
    root: Path, cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    directory = root / "home"
    with project_of_gcp(monkeypatch, directory) as gcp:
        key = {"GOOGLE_APPLICATION_CREDENTIALS": "/home/key.json"}
        reader = Reader(root, {**gcp.variables(), **key})
        said = reader.follow("deploy-gcp.md", cluster)
    ups = [text for line, text in said.items() if " gcp up " in line and "--dry-run" not in line]
    assert len(ups) == 2
    [shared] = [text for line, text in said.items() if "net-host" in line]
    assert "roles/compute.networkUser" in shared
    assert "The master is at http://203.0.113." in ups[0]
    assert "Created experiment" in said["det experiment create config.yaml ."]
    assert "lab" in said["det deploy gcp list --project-id lab-1"]
    [down] = [text for line, text in said.items() if " gcp down " in line]
    assert "gcloud storage rm --recursive gs://" in down


@pytest.mark.parametrize("page", PAGES)
def test_each_command_of_a_page_runs_or_has_a_reason(page: str) -> None:
    """A command is one of ours, or in the list."""
    assert unexplained(commands(page), ("det ", "export "), NOT_RUN) == []


def test_the_list_of_commands_that_are_not_run_has_no_stale_entry() -> None:
    assert stale([line for page in PAGES for line in commands(page)], NOT_RUN) == []
