"""Data sets and arguments that cannot be processed are refused, with the remedy."""

from __future__ import annotations

import types
from pathlib import Path
from typing import Any

import pytest
import torch
from toy import Reports, data

from determined import core
from determined.pytorch import experimental
from determined.pytorch.experimental import _batch_process


class Counts(experimental.TorchBatchProcessor):
    def __init__(self, context: experimental.TorchBatchProcessorContext) -> None:
        assert context.device == torch.device("cpu")
        self.batches: list[int] = []
        self.seen: list[int] = []
        self.is_finished = False
        self.total = context.wrap_reducer(sum, name="records")
        made.append(self)

    def process_batch(self, batch: Any, batch_idx: int) -> None:
        if batch_idx == dies_at:
            raise KeyboardInterrupt
        self.batches.append(len(batch[0]))
        self.seen.append(batch_idx)
        self.total.update(len(batch[0]))

    def on_finish(self) -> None:
        self.is_finished = True


made: list[Counts] = []
dies_at = -1


class Stream(torch.utils.data.IterableDataset):
    def __iter__(self) -> Any:
        return iter(range(3))


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    made.clear()


class Trial:
    """Runs of one trial, each from the last checkpoint of the run before."""

    def __init__(self, storage: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.storage = storage
        self.trial_id = 7
        self.reports = Reports()
        monkeypatch.setattr(_batch_process.core, "init", self._context)
        self._monkeypatch = monkeypatch

    def run(self, records: int = 23, dies: int = -1, **arguments: Any) -> Counts:
        self._monkeypatch.setitem(globals(), "dies_at", dies)
        try:
            experimental.torch_batch_process(Counts, data(records), **arguments)
        except KeyboardInterrupt:
            assert dies >= 0
        return made[-1]

    def _context(self, distributed: Any) -> core.Context:
        context = core.make_dummy_context(distributed, str(self.storage))
        context.train = self.reports = Reports()
        saved = sorted(self.storage.glob("*/metadata.json"), key=lambda p: p.stat().st_mtime_ns)
        context.info = types.SimpleNamespace(  # type: ignore[assignment]
            task_type="TRIAL",
            task_id="7.task",
            gpu_uuids=[],
            latest_checkpoint=saved[-1].parent.name if saved else None,
            trial=types.SimpleNamespace(trial_id=self.trial_id, hparams={"lr": 1}),
        )
        return context


@pytest.fixture
def trial(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Trial:
    return Trial(tmp_path / "storage", monkeypatch)


@pytest.mark.parametrize("interval", [1, 2, 3, 100])
def test_a_killed_run_continues_after_its_checkpoint_and_counts_all(
    trial: Trial, interval: int
) -> None:
    killed = trial.run(dies=5, batch_size=2, checkpoint_interval=interval)
    assert not killed.is_finished
    done = trial.run(batch_size=2, checkpoint_interval=interval)
    saved = 5 - 5 % interval if interval <= 5 else 0
    assert done.seen == list(range(saved, 12))
    assert done.is_finished
    assert trial.reports.of("validation") == [(12, {"records": 23})]


def test_a_run_that_had_processed_all_only_finishes_again(trial: Trial) -> None:
    trial.run(batch_size=8)
    again = trial.run(batch_size=8)
    assert (again.seen, again.is_finished) == ([], True)
    assert trial.reports.of("validation") == [(3, {"records": 23})]


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ({"batch_size": 4}, "the run before had batch_size 8, this one has 4"),
        ({"batch_size": 8, "records": 9}, "the run before had records 23, this one has 9"),
    ],
)
def test_a_run_with_other_batches_is_refused(
    trial: Trial, arguments: dict[str, Any], text: str
) -> None:
    trial.run(dies=1, batch_size=8, checkpoint_interval=1)
    with pytest.raises(ValueError, match=f"{text}: continue with the same, or start a new"):
        trial.run(**arguments)


def test_the_checkpoint_of_another_trial_starts_at_the_first_batch(trial: Trial) -> None:
    trial.run(batch_size=8)
    trial.trial_id = 8
    assert trial.run(batch_size=4).seen == [0, 1, 2, 3, 4, 5]


@pytest.mark.parametrize(
    ("arguments", "sizes"),
    [
        ({}, [1] * 7),
        ({"batch_size": 3}, [3, 3, 1]),
        ({"dataloader_kwargs": {"batch_size": 3, "drop_last": True}}, [3, 3]),
        ({"batch_size": 3, "dataloader_kwargs": {"batch_size": 3, "shuffle": False}}, [3, 3, 1]),
        ({"batch_size": 3, "max_batches": 9}, [3, 3, 1]),
    ],
)
def test_a_data_set_is_processed_without_a_cluster(
    arguments: dict[str, Any], sizes: list[int]
) -> None:
    experimental.torch_batch_process(Counts, data(7), **arguments)
    assert made[0].batches == sizes


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ({"max_batches": 0}, "max_batches must be at least 1, got 0"),
        ({"checkpoint_interval": 0}, "checkpoint_interval must be at least 1, got 0"),
        ({"batch_size": 0}, "batch_size must be at least 1, got 0"),
        (
            {"batch_size": 2, "dataloader_kwargs": {"batch_size": 3}},
            "batch_size is 2, and 3 in dataloader_kwargs",
        ),
        ({"dataloader_kwargs": {"shuffle": True}}, "dataloader_kwargs cannot have shuffle"),
        ({"dataloader_kwargs": {"sampler": [1]}}, "dataloader_kwargs cannot have sampler"),
    ],
)
def test_arguments_are_checked(arguments: dict[str, Any], text: str) -> None:
    with pytest.raises(ValueError, match=text):
        experimental.torch_batch_process(Counts, data(7), **arguments)


def test_a_data_set_without_a_length_is_refused() -> None:
    with pytest.raises(TypeError, match="of type Stream cannot be shared among ranks"):
        experimental.torch_batch_process(Counts, Stream())


def test_an_object_in_place_of_a_class_is_refused() -> None:
    with pytest.raises(TypeError, match="must be a TorchBatchProcessor class, got"):
        experimental.torch_batch_process(print, data(7))  # type: ignore[arg-type]
