"""The files of media: their names, their bounds, and who writes them."""

from __future__ import annotations

import logging
import re
from pathlib import Path
from typing import Any

import pytest
from tests.harness.conftest import Task
from tests.harness.master_double import MasterDouble

from determined import core
from determined.core._distributed import DummyDistributedContext
from determined.core._train import TrainContext
from determined.media import Encoded, Table, Text, _store
from determined.tensorboard import SharedFSTensorboardManager

TEXT = Encoded("text", "txt", b"12345")
CODE = """
from determined import core
from determined.media import Image, Table
with core.init(tensorboard_mode="{mode}") as context:
    for step in (1, 2):
        media = {{"a/b": Image([[step]]), "note": "step %d" % step, "t": Table(["x"], [[step]])}}
        context.train.report_media(step, media, group="validation")
"""


@pytest.fixture
def train(tmp_path: Path) -> Any:
    """A chief's context that stores in `tmp_path/storage`."""
    manager = SharedFSTensorboardManager(
        str(tmp_path / "storage"), tmp_path / "base", Path("trial"), async_upload=False
    )
    return context_of(manager, DummyDistributedContext())


def context_of(manager: Any, distributed: Any) -> TrainContext:
    anything: Any = None
    return TrainContext(
        anything, 1, 1, anything, distributed, core.TensorboardMode.AUTO, manager, None
    )


def files_in(directory: Path) -> list[str]:
    return sorted(str(p.relative_to(directory)) for p in directory.rglob("*") if p.is_file())


@pytest.mark.slow
@pytest.mark.e2e
@pytest.mark.parametrize("mode", ["AUTO", "MANUAL"])
def test_a_trial_stores_its_media_below_its_tensorboard_files(
    task: Task, master: MasterDouble, python: str, mode: str
) -> None:
    done = task.run_script(python, CODE.format(mode=mode))
    assert done.returncode == 0, done.stderr
    files = files_in(task.storage / "cluster/tensorboard/experiment/2/trial/3/media/validation")
    assert files == [
        "a=2Fb/000000000001.image.png",
        "a=2Fb/000000000002.image.png",
        "note/000000000001.text.txt",
        "note/000000000002.text.txt",
        "t/000000000001.table.json",
        "t/000000000002.table.json",
    ]


def test_the_same_steps_replace_a_value(train: Any, tmp_path: Path) -> None:
    train.report_media(3, {"note": "first"})
    train.report_media(3, {"note": Text("second")})
    directory = tmp_path / "storage/trial/media"
    assert files_in(directory) == ["training/note/000000000003.text.txt"]
    assert (directory / "training/note/000000000003.text.txt").read_text() == "second"


def test_no_file_but_those_of_media_is_left(train: Any, tmp_path: Path) -> None:
    train.report_media(3, {"note": "first"})
    assert files_in(tmp_path / "base") == ["media/training/note/000000000003.text.txt"]
    assert files_in(tmp_path / "storage") == ["trial/media/training/note/000000000003.text.txt"]


@pytest.mark.parametrize(
    "name", ["../../x", "..", ".", "/etc/passwd", "a\0b", "ü", "a b", "%2e", "="]
)
def test_no_name_is_a_path(name: str, tmp_path: Path) -> None:
    path = _store.path_of("training", name, 1, TEXT)
    group, directory, file = path.split("/")
    assert (group, file) == ("training", "000000000001.text.txt")
    assert set(directory) <= set("=0123456789ABCDEFabcdefghijklmnopqrstuvwxyz")
    _store.MediaStore(tmp_path / "base").write(1, {name: TEXT}, "training")
    assert files_in(tmp_path / "base/media") == [path]


def test_names_that_differ_have_files_that_differ() -> None:
    names = ["a/b", "a=2Fb", "a.b", "a_b", "a-b", "A/b"]
    assert len({_store.path_of("g", name, 1, TEXT) for name in names}) == len(names)


@pytest.mark.parametrize(
    ("steps", "media", "group", "error", "text"),
    [
        (1, {"": "x"}, "g", ValueError, "the name of media '' is 0 characters long"),
        (1, {"x" * 201: "x"}, "g", ValueError, "it must be 1 to 200"),
        (1, {3: "x"}, "g", TypeError, "the name of media must be text, got 3"),
        (1, {"a": 0.5}, "g", TypeError, "media 'a' is a float; wrap it: determined.media.Image"),
        (1, {"a": None}, "g", TypeError, "media 'a' is a NoneType; wrap it"),
        (1, ["a"], "g", TypeError, "media must be a dict of values by name"),
        (1, {"a": "x"}, "g.h", ValueError, "must be a name without a dot"),
        (1, {"a": "x"}, "ü" * 100, ValueError, "the group of media"),
        (-1, {"a": "x"}, "g", ValueError, "steps_completed is -1; it must be from 0"),
        (10**13, {"a": "x"}, "g", ValueError, "steps_completed is 10000000000000"),
        (1.5, {"a": "x"}, "g", TypeError, "steps_completed must be a whole number, got 1.5"),
        (1, {"a": Text("x" * 2**21)}, "g", ValueError, "media 'a': the text has 2097152 bytes"),
    ],
)
def test_a_wrong_report_is_named_and_stores_nothing(
    train: Any, tmp_path: Path, steps: Any, media: Any, group: str, error: Any, text: str
) -> None:
    for context in (train, core.DummyTrainContext()):
        with pytest.raises(error, match=re.escape(text)):
            context.report_media(steps, media, group=group)
    assert files_in(tmp_path) == []


def test_a_wrong_value_keeps_the_others_from_being_stored(train: Any, tmp_path: Path) -> None:
    with pytest.raises(TypeError, match="media 'bad'"):
        train.report_media(1, {"good": "x", "bad": 3})
    assert files_in(tmp_path) == []


def test_other_ranks_store_nothing(tmp_path: Path) -> None:
    worker = DummyDistributedContext()
    worker.rank = 1
    manager = SharedFSTensorboardManager(
        str(tmp_path / "storage"), tmp_path / "base", Path("trial"), async_upload=False
    )
    context_of(manager, worker).report_media(1, {"note": "x"})
    assert files_in(tmp_path) == []


@pytest.mark.parametrize(("bound", "value"), [("MAX_FILES", 2), ("MAX_TOTAL_BYTES", 12)])
def test_files_beyond_the_bounds_of_a_trial_are_left_out_with_one_warning(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    bound: str,
    value: int,
) -> None:
    monkeypatch.setattr(_store, bound, value)
    store = _store.MediaStore(tmp_path / "base")
    with caplog.at_level(logging.WARNING, logger="determined.core"):
        for step in (1, 2, 3, 4):
            store.write(step, {"note": TEXT}, "g")
        store.write(2, {"note": Encoded("text", "txt", b"again")}, "g")
    names = [f"g/note/00000000000{step}.text.txt" for step in (1, 2)]
    assert files_in(tmp_path / "base/media") == names
    assert (tmp_path / "base/media" / names[1]).read_bytes() == b"again"
    (record,) = caplog.records
    assert "have reached 2 files and 10 bytes; at most" in record.getMessage()
    assert "g/note/000000000003.text.txt is left out" in record.getMessage()
    assert "report media less often" in record.getMessage()


def test_off_the_cluster_a_report_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO", logger="determined.core")
    core.DummyTrainContext().report_media(3, {"t": Table(["x"], [[1]])}, group="validation")
    assert [record.getMessage() for record in caplog.records] == [
        "validation media 't' at step 3: table (json) of 30 bytes, stored by trials on a cluster "
        "only"
    ]
