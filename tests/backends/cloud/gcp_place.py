"""Providers of GCP against a local Compute Engine, for the contract and for tests of their own."""

from __future__ import annotations

from typing import Any

from tests.backends.cloud.cloud_place import CloudPlace, site
from tests.backends.cloud.gcp_server import GcpServer
from tests.contracts.machine_provider_contract import token

from determined_master.backends.cloud.metadata import GcpMetadata
from determined_master.backends.gcp.compute import Compute
from determined_master.backends.gcp.provider import GcpMachines
from determined_master.ports.machines import MachineProvider
from determined_master.settings.providers.gcp import GcpInstanceType, GcpProvider

IMAGE = "projects/lab/global/images/docker"


class GcpPlace(CloudPlace):
    """A pool of one test."""

    def __init__(self, server: GcpServer, metadata_url: str, **changes: Any) -> None:
        self.server = server
        self._metadata_url = metadata_url
        self.settings = GcpProvider(
            type="gcp",
            **{
                "master_url": "http://det.example:8080",
                "agent_docker_image": "registry.example/agent:1",
                "boot_disk_source_image": IMAGE,
                "instance_type": GcpInstanceType(machine_type="n1-standard-32"),
                **changes,
            },
        )
        self.provider: MachineProvider = self.make("gpus")

    def make(self, pool: str, **options: Any) -> GcpMachines:
        """A provider of a pool of this test's master."""
        return GcpMachines(
            self.settings,
            site(pool),
            metadata=GcpMetadata(self._metadata_url),
            make_client=lambda project, zone, token: Compute(
                project, zone, token, self.server.url
            ),
            **options,
        )

    async def stop_machine(self, machine_id: str) -> None:
        self.server.set_status(machine_id, "TERMINATED")


async def launched(
    server: GcpServer, metadata_url: str, count: int = 1, **changes: Any
) -> dict[str, Any]:
    """The body of the call that started machines."""
    place = GcpPlace(server, metadata_url, **changes)
    await place.provider.open()
    await place.provider.launch(count, token())
    await place.provider.close()
    [body] = server.bodies()
    assert isinstance(body, dict)
    return body
