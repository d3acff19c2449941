"""The cluster's checkpoint storage beside pools whose machines are ended."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.master_settings import errors, read

from determined_master.settings.providers.kinds import PROVIDERS, ProviderType
from determined_master.settings.providers.provider import Provider

POOL = "resource_pools: [{pool_name: default, provider: {type: local}%s}]\n"
STORAGE = "checkpoint_storage: {type: shared_fs, host_path: /mnt/checkpoints/lab%s}"


@pytest.fixture(autouse=True)
def local(monkeypatch: pytest.MonkeyPatch) -> None:
    """A type that has no options of its own."""
    monkeypatch.setitem(PROVIDERS, "local", ProviderType(Provider))


def test_a_directory_of_machines_that_are_ended_is_no_storage(tmp_path: Path) -> None:
    [problem] = errors(tmp_path, POOL % "" + STORAGE % "")
    assert problem.startswith(
        "root.checkpoint_storage: is the directory /mnt/checkpoints/lab of each machine, and the "
        "machines of default are ended with their checkpoints"
    )
    assert "set shared: true" in problem


def test_the_default_storage_is_refused_for_such_machines_too(tmp_path: Path) -> None:
    [problem] = errors(tmp_path, POOL % "")
    assert problem.startswith("root.checkpoint_storage: is the directory ")


MOUNT = (
    ", task_container_defaults: {bind_mounts: [{host_path: %s, container_path: /mnt/checkpoints}]}"
)


@pytest.mark.parametrize(
    ("pool", "storage"),
    [
        ("", STORAGE % ", shared: true"),
        (MOUNT % "/mnt/checkpoints", STORAGE % ""),
        ("", "checkpoint_storage: {type: s3, bucket: checkpoints}"),
    ],
    ids=["said to be shared", "a mount of the pool", "a bucket"],
)
def test_a_storage_that_outlives_the_machines_is_taken(
    tmp_path: Path, pool: str, storage: str
) -> None:
    settings = read(tmp_path, POOL % pool + storage)
    assert settings.checkpoint_storage is not None


def test_a_mount_beside_the_directory_does_not_help(tmp_path: Path) -> None:
    assert len(errors(tmp_path, POOL % (MOUNT % "/mnt/check") + STORAGE % "")) == 1


def test_experiments_do_not_take_over_that_a_directory_is_shared(tmp_path: Path) -> None:
    from determined_master.domain.config.sections.storage import storage_defaults

    settings = read(tmp_path, POOL % "" + STORAGE % ", shared: true")
    assert settings.checkpoint_storage is not None
    assert settings.checkpoint_storage["shared"] is True
    assert "shared" not in storage_defaults(settings.checkpoint_storage)
