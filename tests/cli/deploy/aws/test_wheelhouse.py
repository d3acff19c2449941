"""A master's machine that installs from the wheels that `up` has uploaded, and from no index."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.backends.cloud.ec2_server import ACCOUNT_VARIABLES
from tests.cli.conftest import Det
from tests.cli.deploy.aws.conftest import Aws
from tests.cli.deploy.wheelhouse_machine import fill_wheelhouse, start_without_index

pytestmark = pytest.mark.slow
UP = ("deploy", "--no-wait-for-master", "aws", "up", "--cluster-id", "lab", "--keypair", "ops")


@pytest.fixture
def house(tmp_path: Path, aws: Aws, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A directory of wheels that the installed version accepts."""
    return fill_wheelhouse(tmp_path, monkeypatch)


def test_the_master_and_its_agents_need_no_package_index(
    det: Det, aws: Aws, house: Path, tmp_path: Path
) -> None:
    done = det(*UP, "--wheelhouse", str(house))
    assert done.status == 0, done.err
    [reservation] = aws.client("ec2").describe_instances()["Reservations"]
    script = aws.user_script(reservation["Instances"][0]["InstanceId"])
    start_without_index(
        tmp_path / "machine", script, {**ACCOUNT_VARIABLES, "AWS_ENDPOINT_URL": aws.url}
    )


def test_a_wheelhouse_that_lacks_a_package_makes_nothing(
    det: Det, aws: Aws, house: Path, tmp_path: Path
) -> None:
    [path] = house.glob("obstore-*")
    path.unlink()
    refused = det(*UP, "--wheelhouse", str(house))
    assert refused.status == 1
    assert (
        f"--wheelhouse: {house} has no wheel that this release accepts of obstore" in refused.err
    )
    assert aws.client("cloudformation").list_stacks()["StackSummaries"] == []
    refused = det(*UP, "--dry-run", "--wheelhouse", str(tmp_path / "nowhere"))
    assert "nowhere' is not a directory: name one of wheels" in refused.err
