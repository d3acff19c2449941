"""What a configuration says about a container reaches the agent."""

from __future__ import annotations

from typing import Any

import pytest
from tests.covers import covers
from tests.domain.config.builders import build

from determined_master.services.container_options import container_options

GIB = 1024**3


def options(device_type: str = "cpu", **overrides: Any) -> dict[str, Any]:
    return container_options(build(**overrides).config, device_type, 4 * GIB)


@covers("experiment-config 12.image 24.gpu")
@pytest.mark.parametrize(("device", "image"), [("cpu", "c:1"), ("cuda", "g:1"), ("rocm", "r:1")])
def test_a_container_gets_the_image_of_its_devices(device: str, image: str) -> None:
    images = {"cpu": "c:1", "gpu": "g:1", "rocm": "r:1"}
    assert options(device, environment={"image": images})["image"] == image


@covers("experiment-config 11.shm_size")
def test_shared_memory_is_the_clusters_unless_the_experiment_says_otherwise() -> None:
    assert options()["shm_size_bytes"] == 4 * GIB
    assert options(resources={"shm_size": "1.5 GiB"})["shm_size_bytes"] == 3 * GIB // 2


@covers("experiment-config 11.devices 13.device_string 13.device_map")
def test_devices_are_passed_with_their_modes() -> None:
    devices = ["/dev/a:/dev/b:r", {"host_path": "/dev/c", "container_path": "/dev/d"}]
    found = options(resources={"devices": devices})["devices"]
    assert found == ("/dev/a:/dev/b:r", "/dev/c:/dev/d:mrw")


@covers("experiment-config 12.registry_auth 12.force_pull_image 12.capabilities")
def test_pulling_and_capabilities_are_passed_on() -> None:
    found = options(
        environment={
            "registry_auth": {"username": "u", "password": "p", "serveraddress": "r"},
            "force_pull_image": True,
            "add_capabilities": ["A"],
            "drop_capabilities": ["B"],
        }
    )
    auth = found["registry_auth"]
    assert (auth.username, auth.password, auth.server_address) == ("u", "p", "r")
    assert found["force_pull_image"] is True
    assert (found["add_capabilities"], found["drop_capabilities"]) == (("A",), ("B",))
    assert options()["registry_auth"] is None
