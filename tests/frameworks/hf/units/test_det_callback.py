"""A language model is trained by the trainer of transformers, as a trial."""

from __future__ import annotations

import logging
import math
from pathlib import Path
from typing import Any

import pytest
import transformers
from small import EPOCH, AtStep, Sequences, Trial, weights
from tests.frameworks.small_trial import Preempts

from determined import core
from determined.transformers import DetCallback

END = 3 * EPOCH


@pytest.fixture
def trial(tmp_path: Path) -> Trial:
    return Trial(tmp_path)


def test_a_training_is_reported_and_saved(trial: Trial) -> None:
    trial.options = {"user_data": {"who": "me"}}
    trial.run()
    training, validation = trial.reports.made["training"], trial.reports.made["validation"]
    assert sorted(training) == [3, 6, 9, 12, 15, 18]
    assert training[18]["loss"] < training[3]["loss"]
    assert {"loss", "learning_rate", "epoch"} <= set(training[3])
    assert sorted(validation) == [6, 12, 18]
    assert validation[18]["eval_loss"] < validation[6]["eval_loss"]
    assert validation[6]["epoch"] == 1
    assert trial.reports.progress == sorted(trial.reports.progress)
    assert trial.reports.progress[-1] == 1
    assert trial.steps() == [5, 10, 15, 18]
    saved = trial.checkpoints()[-1]
    assert (saved["trial_id"], saved["user_data"]) == (7, {"who": "me"})
    assert saved["framework"].startswith("transformers-")
    assert (saved["path"] / "model.safetensors").exists()


@pytest.mark.parametrize("step", [0, 4, 5, 7])
@pytest.mark.parametrize("batches", [1, 2])
def test_a_preempted_training_resumes_with_its_next_step_bit_by_bit(
    trial: Trial, tmp_path: Path, step: int, batches: int
) -> None:
    options = {"gradient_accumulation_steps": batches, "num_train_epochs": 3 * batches}
    whole = Trial(tmp_path / "whole").run(**options)
    trial.callbacks = [AtStep(step, lambda: setattr(trial.preempt, "now", True))]
    trial.run(**options)
    assert trial.steps()[-1] == step + 1
    assert trial.trainer.state.global_step == step + 1
    trial.callbacks = []
    resumed = trial.run(**options)
    assert resumed.state.global_step == END
    assert min(trial.reports.made["training"]) > step
    assert weights(resumed) == weights(whole)


@pytest.mark.parametrize("event", ["on_substep_end", "on_pre_optimizer_step"])
def test_a_preemption_inside_a_step_waits_for_its_end(trial: Trial, event: str) -> None:
    trial.callbacks = [AtStep(2, lambda: setattr(trial.preempt, "now", True), event)]
    trial.run(gradient_accumulation_steps=2, save_strategy="no")
    assert trial.steps() == [3]


def test_a_preempted_training_saves_where_nothing_else_does(trial: Trial) -> None:
    trial.callbacks = [AtStep(3, lambda: setattr(trial.preempt, "now", True))]
    trial.run(save_strategy="no")
    assert trial.steps() == [4]


def test_a_preempted_training_continues_until_it_is_saved(trial: Trial) -> None:
    """With this strategy, the trainer drops the request at a step that evaluates, worse."""
    trial.callbacks = [AtStep(9, lambda: setattr(trial.preempt, "now", True))]
    trial.run(
        save_strategy="best", metric_for_best_model="loss", greater_is_better=True, eval_steps=5
    )
    assert trial.steps() == [5, 11]
    assert trial.trainer.state.global_step == 11


def test_a_finished_training_trains_no_more(trial: Trial) -> None:
    trained = weights(trial.run())
    again = trial.run()
    assert again.state.global_step == END
    assert weights(again) == trained
    assert trial.reports.made["validation"] == {}
    assert trial.steps() == [5, 10, 15, 18]


def test_the_checkpoint_of_another_trial_gives_the_model_alone(trial: Trial) -> None:
    trained = weights(trial.run())
    trial.trial_id = 8
    begins: list[Any] = []
    trial.callbacks = [AtStep(0, lambda: begins.append(weights(trial.trainer)))]
    trial.run(max_steps=2)
    assert begins == [trained]
    assert trial.trainer.state.global_step == 2
    assert trial.steps()[-1] == 2


@pytest.mark.parametrize(
    ("length", "end"), [({"batches": 4}, 4), ({"epochs": 2}, 2 * EPOCH), (None, END)]
)
def test_the_searchers_length_is_that_of_the_training(
    trial: Trial, length: Any, end: int, caplog: pytest.LogCaptureFixture
) -> None:
    trial.searcher["max_length"] = length
    with caplog.at_level(logging.INFO, "determined"):
        assert trial.run().state.global_step == end
    assert ("searcher.max_length sets max_steps" in caplog.text) == (length is not None)


def test_a_length_in_records_is_refused(trial: Trial) -> None:
    trial.searcher["max_length"] = {"records": 100}
    with pytest.raises(
        ValueError, match=r"100 records cannot be counted .*: use batches or epochs"
    ):
        trial.run()


@pytest.mark.parametrize(("name", "value"), [("batches", 6), ("epochs", 1.0), ("epoch", 1.0)])
def test_an_evaluation_has_the_searchers_time(trial: Trial, name: str, value: float) -> None:
    trial.searcher["time_metric"] = name
    trial.options = {"filter_metrics": ["runtime"]}
    trial.run(num_train_epochs=1)
    [metrics] = trial.reports.made["validation"].values()
    assert sorted(metrics) == sorted(["eval_loss", "eval_runtime", name])
    assert metrics[name] == value


def test_filtered_metrics_are_those_whose_names_have_a_part(trial: Trial) -> None:
    trial.options = {"filter_metrics": ["loss"]}
    trial.run(num_train_epochs=1)
    assert {tuple(m) for m in trial.reports.made["training"].values()} == {("loss",)}
    [metrics] = trial.reports.made["validation"].values()
    assert metrics.keys() == {"eval_loss"}


def test_a_missing_metric_of_the_searcher_is_named_once(
    trial: Trial, caplog: pytest.LogCaptureFixture
) -> None:
    trial.searcher["metric"] = "accuracy"
    trial.run()
    [text] = [r.getMessage() for r in caplog.records if "searcher.metric" in r.getMessage()]
    assert "is 'accuracy', which the evaluation does not report" in text
    assert "eval_loss" in text


def test_evaluations_of_several_data_sets_are_one_report(trial: Trial) -> None:
    trial.eval_dataset = {"near": Sequences(8), "far": Sequences(4)}
    trial.run(num_train_epochs=1)
    [metrics] = trial.reports.made["validation"].values()
    assert {"eval_near_loss", "eval_far_loss"} <= set(metrics)


def test_an_evaluation_after_the_training_is_reported(trial: Trial) -> None:
    trial.run(num_train_epochs=1, eval_strategy="no").evaluate()
    assert list(trial.reports.made["validation"]) == [EPOCH]


def test_a_loss_that_is_no_number_is_reported_as_it_is(trial: Trial) -> None:
    trial.run(
        num_train_epochs=1, learning_rate=1e30, logging_steps=1, logging_nan_inf_filter=False
    )
    losses = [metrics["loss"] for metrics in trial.reports.made["training"].values()]
    assert any(math.isnan(loss) or math.isinf(loss) for loss in losses)


def test_a_second_callback_is_refused(trial: Trial, tmp_path: Path) -> None:
    args = transformers.TrainingArguments(str(tmp_path / "other"), use_cpu=True)
    trial.callbacks = [DetCallback(trial.context(), args)]
    with pytest.raises(ValueError, match=r"has two DetCallbacks, .*: remove one"):
        trial.run()


def test_two_trainers_one_after_the_other_have_their_callbacks(trial: Trial) -> None:
    trial.is_managed = False
    trial.run(num_train_epochs=1)
    trial.run(num_train_epochs=1)
    assert trial.steps() == [5, 6, 5, 6]


def test_a_trainer_with_other_processes_than_ranks_is_refused(
    trial: Trial, tmp_path: Path
) -> None:
    context = trial.context()
    context.distributed = type("Two", (core.DummyDistributedContext,), {})()
    context.distributed.size = 2
    context.preempt = Preempts(context.distributed)
    args = transformers.TrainingArguments(str(tmp_path / "other"), use_cpu=True)
    with pytest.raises(ValueError, match=r"has 1 processes and core.init.. has 2 ranks"):
        DetCallback(context, args)
