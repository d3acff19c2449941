"""Finding 3: a deletion follows links that another user has made in the shared storage."""

from __future__ import annotations

import uuid
from pathlib import Path

import pytest

from determined.common.storage import SharedFSStorageManager
from determined.errors import CheckpointNotFound

GLOBS = (["**/*"], ["**/key"], ["link/*"], ["sub/*"], ["*"])


@pytest.mark.parametrize("globs", GLOBS)
@pytest.mark.parametrize("name", ["link", "sub/link"])
def test_a_deletion_follows_no_link(tmp_path: Path, globs: list[str], name: str) -> None:
    private = tmp_path / "home"
    private.mkdir()
    (private / "key").write_text("mine")
    storage = tmp_path / "storage"
    checkpoint = str(uuid.uuid4())
    (storage / checkpoint / "sub").mkdir(parents=True)
    (storage / checkpoint / "sub" / "weights").write_text("w")
    (storage / checkpoint / name).symlink_to(private)
    manager = SharedFSStorageManager(str(storage))
    manager.delete(checkpoint, globs)
    assert (private / "key").read_text() == "mine"


def test_a_checkpoint_that_is_a_link_is_not_deleted(tmp_path: Path) -> None:
    private = tmp_path / "home"
    private.mkdir()
    (private / "key").write_text("mine")
    storage = tmp_path / "storage"
    storage.mkdir()
    checkpoint = str(uuid.uuid4())
    (storage / checkpoint).symlink_to(private)
    with pytest.raises(CheckpointNotFound):
        SharedFSStorageManager(str(storage)).delete(checkpoint, ["**/*"])
    assert (private / "key").exists()


def test_a_link_in_the_way_to_tensorboard_files_is_not_followed(tmp_path: Path) -> None:
    private = tmp_path / "home"
    (private / "experiment" / "1").mkdir(parents=True)
    (private / "experiment" / "1" / "key").write_text("mine")
    storage = tmp_path / "storage"
    (storage / "cluster").mkdir(parents=True)
    (storage / "cluster" / "tensorboard").symlink_to(private)
    with pytest.raises(OSError, match="tensorboard"):
        SharedFSStorageManager(str(storage)).delete_below("cluster/tensorboard/experiment/1")
    assert (private / "experiment" / "1" / "key").exists()
