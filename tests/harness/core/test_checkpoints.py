"""Checkpoints of a trial, stored in a directory and reported to a double of the master."""

from __future__ import annotations

import pathlib
from collections.abc import Iterator
from typing import Any

import numpy
import pytest
from tests.harness.master_double import MasterDouble

from determined import core
from determined.common import storage
from determined.common.api import RetryPolicy, UnauthSession


@pytest.fixture
def folder(tmp_path: pathlib.Path) -> pathlib.Path:
    made = tmp_path / "in"
    made.mkdir()
    (made / "weights").write_text("12345")
    return made


@pytest.fixture
def checkpoint(master: MasterDouble, tmp_path: pathlib.Path) -> Iterator[core.CheckpointContext]:
    session: Any = UnauthSession(master.url, max_retries=RetryPolicy(total=0))
    yield core.CheckpointContext(
        core.DummyDistributedContext(),
        storage.SharedFSStorageManager(tmp_path / "storage"),
        session,
        "1.abc",
        "1.abc.1",
        core.TensorboardMode.MANUAL,
        None,
    )
    session.close()


def test_a_checkpoint_needs_the_steps(
    checkpoint: core.CheckpointContext, folder: pathlib.Path, tmp_path: pathlib.Path
) -> None:
    with pytest.raises(ValueError, match="must contain steps_completed"):
        checkpoint.upload(folder)
    with (
        pytest.raises(ValueError, match="must contain steps_completed"),
        checkpoint.store_path({"epoch": 1}),
    ):
        pass
    assert not (tmp_path / "storage").exists()


def test_metadata_are_what_a_user_computes_with(
    checkpoint: core.CheckpointContext, folder: pathlib.Path, master: MasterDouble
) -> None:
    values = {"steps_completed": numpy.int64(3), "loss": float("nan"), 7: {1: numpy.float32(2)}}
    checkpoint.upload(folder, values)  # type: ignore[arg-type]
    (report,) = master.named("POST", "/api/v1/checkpoints")
    assert report.body["metadata"] == {"steps_completed": 3, "loss": "NaN", "7": {"1": 2.0}}
    with pytest.raises(TypeError, match=r"metadata value 'model' is of type builtins\.object"):
        checkpoint.upload(folder, {"steps_completed": 1, "model": object()})


def test_deleting_again_is_a_success(
    checkpoint: core.CheckpointContext, folder: pathlib.Path, master: MasterDouble
) -> None:
    uuid = checkpoint.upload(folder, {"steps_completed": 1})
    checkpoint.delete(uuid)
    checkpoint.delete(uuid)
    told = {"checkpoints": [{"uuid": uuid, "resources": {"resources": {}}}]}
    _, *others = [c.body for c in master.named("PATCH", "/api/v1/checkpoints")]
    assert others == [told, told], "the first one tells that it is about to go"


def test_a_download_mode_may_be_given_as_text_and_an_unknown_one_is_named(
    checkpoint: core.CheckpointContext, folder: pathlib.Path, tmp_path: pathlib.Path
) -> None:
    uuid = checkpoint.upload(folder, {"steps_completed": 1})
    mode: Any = "NO_SHARED_DOWNLOAD"
    checkpoint.download(uuid, tmp_path / "out", mode)
    assert (tmp_path / "out" / "weights").read_text() == "12345"
    mode = "SHARED"
    with pytest.raises(ValueError, match=r"download_mode must be one of .*got 'SHARED'"):
        checkpoint.download(uuid, tmp_path / "out", mode)
    with (
        pytest.raises(ValueError, match="download_mode must be one of"),
        checkpoint.restore_path(uuid, mode),
    ):
        pass


def test_callbacks_that_store_by_themselves_find_what_they_use(
    checkpoint: core.CheckpointContext, master: MasterDouble, tmp_path: pathlib.Path
) -> None:
    """As the callback for Hugging Face's trainer that many copied before there was an `upload`."""
    manager = checkpoint._storage_manager
    assert isinstance(manager, storage.SharedFSStorageManager)
    with manager.store_path("some-uuid") as path:
        (path / "weights").write_text("12345")
        resources = storage.StorageManager._list_directory(path)
    checkpoint._report_checkpoint("some-uuid", resources, {"steps_completed": 2})
    (report,) = master.named("POST", "/api/v1/checkpoints")
    assert report.body["resources"] == {"weights": "5"}
    checkpoint.download("some-uuid", tmp_path / "out")
    assert (tmp_path / "out" / "weights").read_text() == "12345"
