"""Event files: their format and upload."""

from __future__ import annotations

import os
import pathlib
import struct
import sys
from collections.abc import Iterator
from importlib.util import find_spec
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from determined.tensorboard import (
    BatchMetricWriter,
    EventFileWriter,
    MetricWriter,
    SharedFSTensorboardManager,
    get_sync_path,
)
from determined.tensorboard._events import crc32c, record, scalar_event
from determined.tensorboard.metric_writers.pytorch import TorchWriter


def test_the_checksum_is_castagnolis() -> None:
    assert crc32c(b"123456789") == 0xE3069283
    assert crc32c(b"\x00" * 32) == 0x8A9136AA


def test_a_record_is_framed_with_masked_checksums() -> None:
    data = record(b"abc")
    assert data[:8] == struct.pack("<Q", 3)
    crc = crc32c(b"abc")
    masked = (((crc >> 15) | (crc << 17)) + 0xA282EAD8) & 0xFFFFFFFF
    assert data[12:15] == b"abc"
    assert data[15:] == struct.pack("<I", masked)


def test_a_scalar_is_an_event_message() -> None:
    # wall_time = 1.0 (field 1), step = 300 (field 2), summary.value{tag "t", simple_value 0.5}
    assert scalar_event("t", 0.5, 300, 1.0).hex() == (
        "09" + struct.pack("<d", 1.0).hex() + "10ac02" + "2a0a0a080a0174" + "15" + "0000003f"
    )


def events(file: pathlib.Path) -> Iterator[bytes]:
    """The messages of an event file, read by the format's own description."""
    content = file.read_bytes()
    at = 0
    while at < len(content):
        (length,) = struct.unpack_from("<Q", content, at)
        yield content[at + 12 : at + 12 + length]
        at += 12 + length + 4
    assert at == len(content)


def number_at(message: bytes, at: int) -> tuple[int, int]:
    """A varint of at most ten bytes, and where the next field begins."""
    value = 0
    for place in range(10):
        byte = message[at + place]
        value |= (byte & 0x7F) << 7 * place
        if byte < 0x80:
            return value, at + place + 1
    raise AssertionError("a varint of more than ten bytes")


def step_of(message: bytes) -> int | None:
    """Field 2 of an event, an int64; None where it is absent."""
    at, step = 0, None
    while at < len(message):
        key, at = number_at(message, at)
        field, kind = key >> 3, key & 7
        if kind == 0:
            value, at = number_at(message, at)
            step = value if field == 2 else step
        elif kind == 2:
            length, at = number_at(message, at)
            at += length
        else:
            at += {1: 8, 5: 4}[kind]
    return step


@pytest.mark.parametrize("step", [0, 127, 128, 2**31 - 1, 2**31, 2**32 + 7, 2**53 - 1])
@pytest.mark.parametrize("kind", [int, np.int64])
def test_a_file_has_steps_of_64_bits(tmp_path: pathlib.Path, step: int, kind: Any) -> None:
    writer = BatchMetricWriter(EventFileWriter(tmp_path))
    writer.on_train_step_end(kind(step), {"loss": 1.0})
    writer.on_validation_step_end(kind(step), {"acc": np.float32(0.5)})
    writer.writer.reset()
    (file,) = tmp_path.iterdir()
    version, *scalars = events(file)
    assert step_of(version) is None
    assert [step_of(message) for message in scalars] == [step, step]


def test_a_number_beyond_a_float_becomes_infinite() -> None:
    assert scalar_event("t", 1e300, 1, 1.0).endswith(struct.pack("<f", float("inf")))


def test_metrics_have_their_names_and_others_are_left_out(tmp_path: pathlib.Path) -> None:
    writer = BatchMetricWriter(EventFileWriter(tmp_path))
    writer.on_train_step_end(2, {"loss": 1.0, "text": "x"}, [{"b": 1.0}, {"b": 2.0}])
    writer.on_validation_step_end(2, {"acc": 0.5, "val_loss": 1})
    writer.writer.reset()
    (file,) = tmp_path.iterdir()
    content = file.read_bytes()
    assert file.name.startswith("events.out.tfevents.")
    assert b"brain.Event:2" in content
    for name in (
        b"Determined/loss",
        b"Determined/b",
        b"Determined/val_acc",
        b"Determined/val_loss",
    ):
        assert name in content
    assert b"Determined/text" not in content
    assert b"val_val_loss" not in content


class Written(MetricWriter):
    """Keeps what is written."""

    def __init__(self) -> None:
        self.scalars: list[tuple[str, float, int]] = []

    def add_scalar(self, name: str, value: Any, step: int) -> None:
        self.scalars.append((name, value, step))

    def reset(self) -> None:
        """Nothing to close."""

    def flush(self) -> None:
        """Nothing to bring anywhere."""


def test_each_batch_has_its_point_and_averages_stand_where_there_is_none() -> None:
    written = Written()
    BatchMetricWriter(written).on_train_step_end(
        10, {"loss": 0.5, "lr": 0.1, "done": True}, [{"loss": 0.4}, {"loss": 0.6}]
    )
    assert written.scalars == [
        ("Determined/loss", 0.4, 9),
        ("Determined/loss", 0.6, 10),
        ("Determined/lr", 0.1, 10),
        ("Determined/done", True, 10),
    ]


def test_only_requested_uploads_happen_before_close(
    tmp_path: pathlib.Path,
) -> None:
    local, stored = tmp_path / "local", tmp_path / "base" / "to"
    manager = SharedFSTensorboardManager(
        str(tmp_path / "base"), local, pathlib.Path("to"), sync_on_close=False
    )
    with manager:
        for name in ("a", "b", "c"):
            (local / name).write_text(name)
        manager.sync(lambda path: path.name == "a")
        manager.sync(lambda path: path.name == "b")
    assert sorted(path.name for path in stored.iterdir()) == ["a", "b"]


def test_only_what_changed_is_copied_again(tmp_path: pathlib.Path) -> None:
    local = tmp_path / "local"
    sync_path = get_sync_path("c", "1", "2")
    manager = SharedFSTensorboardManager(
        str(tmp_path / "base"), local, sync_path, async_upload=False
    )
    with manager:
        (local / "sub").mkdir()
        (local / "sub" / "a").write_text("1")
        (local / "b").write_text("1")
        manager.sync(mangler=lambda path, rank: path.with_name(f"{path.name}#{rank}"), rank=3)
        stored = tmp_path / "base" / "c" / "tensorboard" / "experiment" / "1" / "trial" / "2"
        assert (stored / "sub" / "a#3").read_text() == "1"
        assert manager.to_sync(lambda _: True) == []
        os.utime(local / "b", (1, 1))
        assert manager.to_sync(lambda _: True) == [local / "b"]
    manager.delete()
    assert not stored.exists()


class SummaryWriter:
    """Stands for torch's, which has no part in where it is told to write."""

    def __init__(self, log_dir: str) -> None:
        self.log_dir = log_dir


def test_torchs_writer_writes_into_the_trials_directory(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("torch", "torch.utils", "torch.utils.tensorboard"):
        monkeypatch.setitem(sys.modules, name, ModuleType(name))
    module: Any = sys.modules["torch.utils.tensorboard"]
    module.SummaryWriter = SummaryWriter
    monkeypatch.setenv("DET_ALLOCATION_ID", "1.abc.1")
    with pytest.warns(FutureWarning, match="get_tensorboard_path"):
        writer = TorchWriter()
    assert pathlib.Path(writer.writer.log_dir).name == "tensorboard-1.abc.1-0"


@pytest.mark.skipif(find_spec("torch") is not None, reason="PyTorch is installed here")
def test_without_torch_its_writer_says_what_to_install() -> None:
    with pytest.warns(FutureWarning), pytest.raises(ImportError, match="packages torch and tens"):
        TorchWriter()
