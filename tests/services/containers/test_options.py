"""What a configuration says about its containers, as agents are told."""

from __future__ import annotations

from typing import Any

import msgspec
from tests.agent_link import spec

from determined_master.domain.task.containers import typed_containers, without_missing_storage
from determined_master.services.containers.options import (
    container_options,
    mounts,
    with_storage_of_cluster,
)
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


def mounted(storage: dict[str, Any], created: str = "") -> str:
    """What an agent does without the directory of a storage."""
    config = typed_containers({"checkpoint_storage": {"type": "shared_fs", **storage}})
    container = msgspec.structs.replace(spec("pass"), mounts=tuple(mounts(config)))
    [mount] = with_storage_of_cluster(container, created).mounts
    return mount.if_missing


def test_agents_create_a_storage_only_if_its_configuration_says_so() -> None:
    assert mounted({"host_path": "/a"}) == "fail"
    assert mounted({"host_path": "/a", "create": False}) == "fail"
    assert mounted({"host_path": "/a", "create": True}) == "create"


def test_agents_create_the_storage_of_the_cluster_if_its_settings_say_so() -> None:
    assert mounted({"host_path": "/a"}, created="/a") == "create"
    assert mounted({"host_path": "/a/b"}, created="/a") == "fail"


def test_other_mounts_are_left_to_the_runtime() -> None:
    bind = {"host_path": "/a", "container_path": "/b"}
    [mount] = mounts(typed_containers({"bind_mounts": [bind]}))
    container = msgspec.structs.replace(spec("pass"), mounts=(mount,))
    assert with_storage_of_cluster(container, "/a").mounts[0].if_missing == ""


def test_a_task_without_files_to_delete_needs_no_storage() -> None:
    storage = {"type": "shared_fs", "host_path": "/a", "create": True}
    config = typed_containers({"checkpoint_storage": storage})
    [mount] = mounts(without_missing_storage(config))
    assert mount.if_missing == "skip"
    bucket = typed_containers({"checkpoint_storage": {"type": "s3", "bucket": "b"}})
    assert mounts(without_missing_storage(bucket)) == []
