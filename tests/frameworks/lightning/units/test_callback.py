"""A network is trained by a trainer of Lightning, as a trial."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

import lightning.pytorch as pl
import pytest
import pytorch_lightning
import torch
from small import EPOCH, EPOCHS, AtEpoch, Trial, weights

from determined import core
from determined.lightning import DetCallback
from determined.lightning.experimental import DetLogger

END = EPOCHS * EPOCH


@pytest.fixture
def trial(tmp_path: Path) -> Trial:
    return Trial(tmp_path)


def preempts_in(trial: Trial, epoch: int) -> AtEpoch:
    return AtEpoch(epoch, lambda: setattr(trial.preempt, "now", True))


@pytest.mark.parametrize(
    "library", [pl, pytorch_lightning], ids=["lightning", "pytorch_lightning"]
)
def test_a_training_is_reported_and_saved(trial: Trial, library: Any) -> None:
    trial.library = library
    trial.options = {"user_data": {"who": "me"}}
    trial.run()
    made = trial.reports.made
    assert sorted(made["training"]) == [3, 6, 9, 12, 15, 18]
    assert sorted(made["validation"]) == [EPOCH, 2 * EPOCH, END]
    assert set(made["training"][END]) == {"train_loss_step", "train_loss_epoch", "epoch"}
    assert set(made["validation"][END]) == {"val_loss", "epoch"}
    assert made["training"][END]["train_loss_epoch"] < made["training"][6]["train_loss_epoch"]
    assert trial.reports.progress == sorted(trial.reports.progress)
    assert trial.reports.progress[-1] == 1
    assert trial.steps() == [EPOCH, 2 * EPOCH, END]
    saved = trial.checkpoints()[-1]
    assert (saved["trial_id"], saved["user_data"]) == (7, {"who": "me"})
    assert saved["framework"] == f"lightning-{pl.__version__}"
    assert {path.name for path in saved["path"].iterdir()} == {
        "generators.0.pkl",
        "lightning.ckpt",
        "metadata.json",
    }


@pytest.mark.parametrize(
    "library", [pl, pytorch_lightning], ids=["lightning", "pytorch_lightning"]
)
@pytest.mark.parametrize("epoch", [0, 1])
def test_a_preempted_training_resumes_with_its_next_epoch_bit_by_bit(
    trial: Trial, tmp_path: Path, epoch: int, library: Any
) -> None:
    trial.library = library
    whole = Trial(tmp_path / "whole")
    whole.library = library
    trial.callbacks = [preempts_in(trial, epoch)]
    trial.run(min_epochs=EPOCHS)
    assert trial.steps()[-1] == (epoch + 1) * EPOCH
    seen = AtEpoch(-1, None)
    trial.callbacks = [seen]
    resumed = trial.run()
    assert seen.epochs == list(range(epoch + 1, EPOCHS))
    assert min(trial.reports.made["training"]) > (epoch + 1) * EPOCH
    assert min(trial.reports.made["validation"]) > (epoch + 1) * EPOCH
    assert weights(resumed) == weights(whole.run())
    assert trial.steps() == whole.steps()


class Killed(Exception):
    pass


def test_a_killed_training_repeats_what_no_checkpoint_has(trial: Trial, tmp_path: Path) -> None:
    def kill() -> None:
        raise Killed

    trial.options = {"checkpoint_epochs": 2}
    trial.callbacks = [AtEpoch(2, kill)]
    with pytest.raises(Killed):
        trial.run(max_epochs=4)
    assert sorted(trial.reports.made["validation"]) == [EPOCH, 2 * EPOCH]
    trial.callbacks = []
    resumed = trial.run(max_epochs=4)
    assert sorted(trial.reports.made["validation"]) == [3 * EPOCH, 4 * EPOCH]
    assert weights(resumed) == weights(Trial(tmp_path / "whole").run(max_epochs=4))


@pytest.mark.parametrize(("every", "steps"), [(0, [END]), (2, [2 * EPOCH, END]), (5, [END])])
def test_a_training_is_saved_each_few_epochs_and_at_its_end(
    trial: Trial, every: int, steps: list[int]
) -> None:
    trial.options = {"checkpoint_epochs": every}
    trial.run()
    assert trial.steps() == steps


def test_a_finished_training_trains_no_more(trial: Trial) -> None:
    trained = weights(trial.run())
    assert weights(trial.run()) == trained
    assert trial.reports.made == {}
    assert trial.steps() == [EPOCH, 2 * EPOCH, END]


def test_a_training_that_has_stopped_early_trains_no_more(trial: Trial) -> None:
    stopping = {"monitor": "train_loss_epoch", "mode": "max", "patience": 1}
    trial.callbacks = [pl.callbacks.EarlyStopping(**stopping)]
    trial.run(max_epochs=8)
    steps = trial.steps()
    assert steps[-1] < 8 * EPOCH
    trial.callbacks = []
    trial.run(max_epochs=8)
    assert (trial.steps(), trial.reports.made) == (steps, {})


def test_the_checkpoint_of_another_trial_gives_the_model_alone(trial: Trial) -> None:
    trained = weights(trial.run())
    trial.trial_id = 8
    begins: list[Any] = []

    def look() -> None:
        begins.append(weights(trial.model))
        assert trial.trainer.optimizers[0].state == {}

    trial.callbacks = [AtEpoch(0, look)]
    trial.run(max_epochs=1)
    assert begins == [trained]
    assert trial.steps()[-1] == EPOCH


@pytest.mark.parametrize(
    ("length", "end"),
    [({"batches": 4}, 4), ({"epochs": 2}, 2 * EPOCH), ({"epochs": 5}, 5 * EPOCH), (None, END)],
)
def test_the_searchers_length_is_that_of_the_training(
    trial: Trial, length: Any, end: int, caplog: pytest.LogCaptureFixture
) -> None:
    trial.searcher["max_length"] = length
    with caplog.at_level(logging.INFO, "determined"):
        trial.run()
    assert trial.steps()[-1] == trial.trainer.global_step == end
    assert ("searcher.max_length sets" in caplog.text) == (length is not None)
    trial.run()
    assert trial.steps()[-1] == end


def test_a_length_in_records_is_refused(trial: Trial) -> None:
    trial.searcher["max_length"] = {"records": 100}
    with pytest.raises(
        ValueError, match=r"100 records cannot be counted .*: use batches or epochs"
    ):
        trial.run()


@pytest.mark.parametrize(("name", "value"), [("batches", 6), ("epochs", 1), ("epoch", 0)])
def test_a_validation_has_the_searchers_time(trial: Trial, name: str, value: int) -> None:
    trial.searcher["time_metric"] = name
    trial.run(max_epochs=1)
    [metrics] = trial.reports.made["validation"].values()
    assert (metrics.keys(), metrics[name]) == ({"val_loss", "epoch", name}, value)


def test_steps_are_those_of_the_optimizer(trial: Trial) -> None:
    trial.run(accumulate_grad_batches=2)
    assert sorted(trial.reports.made["validation"]) == trial.steps() == [3, 6, 9]


def test_a_logger_of_the_trainer_reports_to_the_same_trial(trial: Trial) -> None:
    reporter = DetLogger()
    trial.run(logger=reporter)
    assert trial.trainer.loggers == [reporter]
    assert (reporter.name, reporter.version) == ("2", 7)
    assert sorted(trial.reports.made["validation"]) == [EPOCH, 2 * EPOCH, END]


def test_a_validation_after_the_training_is_not_reported_twice(trial: Trial) -> None:
    model = trial.run(max_epochs=1)
    data = torch.utils.data.DataLoader(torch.ones(4, 2), batch_size=2)
    trial.trainer.validate(model, data, verbose=False)
    trial.trainer.test(model, data, verbose=False)
    assert sorted(trial.reports.made["validation"]) == [EPOCH]
    assert sorted(trial.reports.made["test"]) == [EPOCH]


def test_it_works_outside_of_a_trial(trial: Trial) -> None:
    trial.is_managed = False
    trial.run(max_epochs=1)
    assert trial.steps() == [EPOCH]


def test_the_fetched_checkpoint_is_removed_after_the_training(trial: Trial) -> None:
    trial.run(max_epochs=1)
    callback = trial.made_callback()
    path = Path(callback.ckpt_path)
    assert path.exists()
    callback.teardown(trial.trainer, trial.model, "fit")
    assert (callback.ckpt_path, path.parent.exists()) == (None, False)


def test_two_callbacks_are_refused(trial: Trial) -> None:
    trial.callbacks = [trial.made_callback()]
    with pytest.raises(RuntimeError, match="more than one stateful callback of type"):
        trial.run()


def test_a_trainer_with_other_processes_than_ranks_is_refused(trial: Trial) -> None:
    two = type("Two", (core.DummyDistributedContext,), {})()
    two.size = 2
    callback = trial.made_callback()
    callback._core.distributed = two
    trainer = pl.Trainer(callbacks=[callback], logger=False, accelerator="cpu")
    with pytest.raises(ValueError, match=r"has 1 processes and core.init.. has 2 ranks"):
        callback.setup(trainer, None, "fit")


def test_a_checkpoint_of_another_program_is_named(trial: Trial) -> None:
    context = trial.context()
    with context.checkpoint.store_path({"steps_completed": 1}) as (path, uuid):
        (path / "state.pt").write_text("")
    with pytest.raises(ValueError, match=rf"checkpoint {uuid} was not stored by .*state.pt"):
        trial.run()


def test_an_argument_that_makes_no_sense_is_named(trial: Trial) -> None:
    trial.options = {"checkpoint_epochs": -1}
    with pytest.raises(ValueError, match="must be 0 or more epochs, got -1"):
        trial.made_callback()
    with pytest.raises(TypeError, match=r"must be what core.init\(\) returns, got str"):
        DetCallback("context")  # type: ignore[arg-type]
