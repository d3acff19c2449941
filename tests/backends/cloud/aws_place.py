"""Providers of AWS against a local EC2, for the contract and for tests of their own."""

from __future__ import annotations

import uuid
from typing import Any

from tests.backends.cloud.cloud_place import CloudPlace, site
from tests.backends.cloud.ec2_server import IMAGE, Ec2Server

from determined_master.backends.aws.ec2 import Ec2
from determined_master.backends.aws.provider import AwsMachines
from determined_master.backends.cloud.metadata import AwsMetadata
from determined_master.settings.providers.aws import AwsProvider


def settings(**changes: Any) -> AwsProvider:
    values: dict[str, Any] = {
        "type": "aws",
        "region": "us-west-2",
        "agent_docker_image": "registry.example/agent:1",
        "image_id": IMAGE,
        "ssh_key_name": "key",
        "instance_type": "g4dn.xlarge",
        "master_url": "http://det.example:8080",
    }
    return AwsProvider(**(values | changes))


class AwsPlace(CloudPlace):
    """A pool of one test; moto keeps its instances, so each test has tags of its own."""

    def __init__(self, server: Ec2Server, metadata_url: str, **changes: Any) -> None:
        self.server = server
        self._metadata_url = metadata_url
        self._changes = {"tag_value": f"test-{uuid.uuid4()}", **changes}
        self.provider = self.make("gpus")

    def make(self, pool: str, **options: Any) -> AwsMachines:
        """A provider of a pool of this test's master."""
        return AwsMachines(
            settings(**self._changes),
            site(pool),
            metadata=AwsMetadata(self._metadata_url),
            make_client=lambda region: Ec2(region, self.server.url),
            **options,
        )

    async def stop_machine(self, machine_id: str) -> None:
        self.server.instance(machine_id).terminate()


class SpotPlace(AwsPlace):
    """The same with spot instances."""

    def __init__(self, server: Ec2Server, metadata_url: str, **changes: Any) -> None:
        super().__init__(server, metadata_url, spot="only", **changes)
