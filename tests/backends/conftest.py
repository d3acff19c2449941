"""What tests of machines on demand share."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from tests.backends.cloud.ec2_server import Ec2Server, ec2_server
from tests.backends.cloud.gcp_server import GcpServer, gcp_server
from tests.backends.cloud.metadata_server import aws_metadata, gcp_metadata

from determined_master.backends.gcp import launches as gcp

__all__ = ["Ec2Server", "GcpServer", "ec2_server", "gcp_server"]


@pytest.fixture(scope="module")
def aws_metadata_url() -> Iterator[str]:
    """The metadata service of a master on EC2."""
    with aws_metadata() as url:
        yield url


@pytest.fixture(scope="module")
def gcp_metadata_url() -> Iterator[str]:
    """The metadata service of a master on Compute Engine."""
    with gcp_metadata() as url:
        yield url


@pytest.fixture
def fast_gcp(monkeypatch: pytest.MonkeyPatch) -> None:
    """Operations of GCP are asked about without a wait."""
    monkeypatch.setattr(gcp, "POLL_S", 0.01)
