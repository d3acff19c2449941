"""Notices of a cloud that it takes a machine back."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable, Iterator

import pytest
from tests.metadata_service import AT, MetadataService, metadata_service

from determined_agent import machine_notices
from determined_agent.machine_notices import MachineCloud, notice_of, watch

pytestmark = pytest.mark.slow


@pytest.fixture
def service() -> Iterator[MetadataService]:
    with metadata_service() as running:
        yield running


def finder(cloud: MachineCloud, service: MetadataService) -> Callable[[], str]:
    env = {
        "AWS_EC2_METADATA_SERVICE_ENDPOINT": f"http://{service.address}/",
        "GCE_METADATA_HOST": service.address,
    }
    found = notice_of(cloud, env)
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("cloud", "said"),
    [
        ("aws", f"AWS will terminate this spot machine at {AT}"),
        ("gcp", "Google preempts this machine"),
    ],
)
def test_a_notice_is_read_as_the_cloud_gives_it(
    cloud: MachineCloud, said: str, service: MetadataService
) -> None:
    find = finder(cloud, service)
    assert find() == ""
    service.is_taken_back = True
    assert find() == said


def test_the_advice_to_leave_comes_before_the_end(service: MetadataService) -> None:
    find = finder("aws", service)
    service.is_at_risk = True
    assert (
        find()
        == f"AWS advised at {AT} to leave this spot machine, which it will probably end soon"
    )
    service.is_taken_back = True
    assert find() == f"AWS will terminate this spot machine at {AT}"


def test_a_machine_that_survives_its_maintenance_is_not_taken_back(
    service: MetadataService,
) -> None:
    find = finder("gcp", service)
    service.maintenance = "MIGRATE_ON_HOST_MAINTENANCE"
    assert find() == ""
    service.maintenance = "TERMINATE_ON_HOST_MAINTENANCE"
    assert find() == "Google ends this machine for maintenance"


def test_a_machine_of_no_cloud_is_not_watched() -> None:
    assert notice_of("", {}) is None


@pytest.mark.parametrize("cloud", ["aws", "gcp"])
async def test_a_notice_is_announced_once_though_the_service_fails_first(
    cloud: MachineCloud, service: MetadataService
) -> None:
    service.broken_answers = 3
    service.is_taken_back = True
    said: list[str] = []
    async with asyncio.timeout(30):
        await watch(finder(cloud, service), said.append, 0.01)
    assert len(said) == 1


async def test_a_missing_service_is_asked_again_until_the_watch_ends() -> None:
    tries = 0

    def find() -> str:
        nonlocal tries
        tries += 1
        if tries < 3:
            raise OSError("no route to the host")
        return "taken back"

    said: list[str] = []
    async with asyncio.timeout(30):
        await watch(find, said.append, 0.001)
    assert (said, tries) == (["taken back"], 3)


@pytest.mark.parametrize("cloud", ["aws", "gcp"])
async def test_a_service_that_hangs_is_asked_again(
    cloud: MachineCloud, service: MetadataService, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(machine_notices, "TIMEOUT_S", 0.05)
    service.is_taken_back = True
    said: list[str] = []
    with socket.create_server(("127.0.0.1", 0)) as silent:  # it takes calls and answers none
        place = f"127.0.0.1:{silent.getsockname()[1]}"
        finders = [finder(cloud, MetadataService(place)), finder(cloud, service)]

        def find() -> str:
            return (finders.pop(0) if len(finders) > 1 else finders[0])()

        async with asyncio.timeout(30):
            await watch(find, said.append, 0.01)
    assert len(said) == 1
    assert len(finders) == 1
