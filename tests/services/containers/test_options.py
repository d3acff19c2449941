"""What a configuration says about its containers, as agents are told."""

from __future__ import annotations

from determined_master.domain.task.containers import typed_containers
from determined_master.services.containers.options import container_options
from determined_wire.agent_link import RegistryAuth

CONFIG = {
    "environment": {
        "image": {"cpu": "for-cpu:1", "cuda": "for-cuda:1"},
        "force_pull_image": True,
        "registry_auth": {"username": "me", "password": "word", "serveraddress": "mine.io"},
        "add_capabilities": ["NET_ADMIN"],
        "drop_capabilities": ["MKNOD"],
    },
    "resources": {
        "devices": [{"host_path": "/dev/a", "container_path": "/dev/b", "mode": "rw"}],
        "shm_size": 7,
    },
}


def test_everything_that_is_set_is_passed_on() -> None:
    assert container_options(typed_containers(CONFIG), "cuda", 99) == {
        "image": "for-cuda:1",
        "force_pull_image": True,
        "registry_auth": RegistryAuth("me", "word", "mine.io"),
        "add_capabilities": ("NET_ADMIN",),
        "drop_capabilities": ("MKNOD",),
        "devices": ("/dev/a:/dev/b:rw",),
        "shm_size_bytes": 7,
    }


def test_unset_options_are_those_of_the_cluster() -> None:
    options = container_options(
        typed_containers({"environment": {"image": {"cpu": "a"}}}), "cpu", 99
    )
    assert (options["image"], options["shm_size_bytes"], options["registry_auth"]) == (
        "a",
        99,
        None,
    )
