"""A trial class of Keras is trained as its configuration says."""

from __future__ import annotations

import types
from pathlib import Path
from typing import Any

import keras
import numpy as np
import pytest
from small import BATCH, EPOCH, RECORDS, AtEpoch, Trial, build, weights

from determined._experiment_config import ExperimentConfig
from determined.keras import SequenceAdapter, TFKerasTrial, TFKerasTrialContext, _fit
from determined.keras.callbacks import EarlyStopping

ARRAYS = np.random.default_rng(5).normal(size=(RECORDS, 4)).astype("float32")
LABELS = ARRAYS.sum(axis=1, keepdims=True)
CONFIG = {
    "searcher": {"name": "single", "metric": "val_loss", "max_length": {"epochs": 3}},
    "hyperparameters": {"global_batch_size": BATCH},
}


class Batches(keras.utils.PyDataset):
    def __len__(self) -> int:
        return EPOCH

    def __getitem__(self, index: int) -> Any:
        part = slice(index * BATCH, (index + 1) * BATCH)
        return ARRAYS[part], LABELS[part]


def endless() -> Any:
    """Batches without an end, as a repeated data set of TensorFlow has them."""
    while True:
        yield from (Batches()[index] for index in range(EPOCH))


class Regression(TFKerasTrial):
    training: Any = (ARRAYS, LABELS)
    validation: Any = (ARRAYS[:8], LABELS[:8])
    options: Any = types.MappingProxyType({"shuffle": False})
    callbacks: Any = ()

    def __init__(self, context: TFKerasTrialContext) -> None:
        self.context = context

    def build_model(self) -> Any:
        self.context.configure_fit(**self.options)
        model = self.context.wrap_model(build())
        optimizer = self.context.wrap_optimizer(keras.optimizers.Adam(0.02))
        model.compile(optimizer=optimizer, loss="mse")
        return model

    def build_training_data_loader(self) -> Any:
        return self.context.wrap_dataset(self.training)

    def build_validation_data_loader(self) -> Any:
        return self.validation

    def keras_callbacks(self) -> list[Any]:
        return list(self.callbacks)


@pytest.fixture
def trial(tmp_path: Path) -> Trial:
    return Trial(tmp_path)


def run(trial: Trial, *callbacks: Any, training: Any = None, **more: Any) -> Any:
    """Train the class once, from the trial's last checkpoint; return the model."""
    context = TFKerasTrialContext.from_config({**CONFIG, **more})
    saved = trial.checkpoints()
    context._core = trial.context()
    context.env.latest_checkpoint = saved[-1]["path"].name if saved else None
    made = Regression(context)
    made.callbacks = list(callbacks)
    made.training = (ARRAYS, LABELS) if training is None else training
    keras.utils.set_random_seed(3)
    _fit.train(made, context, 7)
    return context.model


@pytest.mark.parametrize(
    "data",
    [(ARRAYS, LABELS), (ARRAYS, LABELS, np.ones(RECORDS)), Batches(), SequenceAdapter(Batches())],
    ids=["arrays", "weighted", "sequence", "adapter"],
)
def test_a_class_is_trained_validated_and_saved(trial: Trial, data: Any) -> None:
    run(trial, training=data)
    made = trial.reports.made
    assert sorted(made["validation"]) == [EPOCH, 2 * EPOCH, 3 * EPOCH] == trial.steps()
    assert made["training"][3 * EPOCH]["loss"] < made["training"][EPOCH]["loss"]


def test_data_without_an_end_has_the_configured_length(trial: Trial) -> None:
    run(trial, training=endless(), records_per_epoch=RECORDS)
    assert trial.steps() == [EPOCH, 2 * EPOCH, 3 * EPOCH]


def test_data_without_a_length_is_refused_for_epochs(trial: Trial) -> None:
    with pytest.raises(_fit.PlanError, match="3 epochs needs records_per_epoch"):
        run(trial, training=endless())


@pytest.mark.parametrize("epochs", [1, 2])
def test_a_preempted_class_resumes_bit_by_bit(trial: Trial, tmp_path: Path, epochs: int) -> None:
    whole = run(Trial(tmp_path / "whole"))
    run(trial, AtEpoch(epochs - 1, lambda: setattr(trial.preempt, "now", True)))
    assert trial.steps()[-1] == epochs * EPOCH
    resumed = run(trial)
    assert min(trial.reports.made["training"]) > epochs * EPOCH
    assert weights(resumed) == weights(whole)


def test_a_callback_of_the_class_ends_the_training(trial: Trial) -> None:
    run(trial, EarlyStopping("loss", mode="max", patience=1))
    assert trial.steps()[-1] < 3 * EPOCH


PLANS = [
    ({"max_length": {"batches": 100}}, {}, (100, 6, 1)),
    ({"max_length": {"records": 100}}, {}, (25, 6, 1)),
    ({"max_length": {"epochs": 5}}, {"min_validation_period": {"batches": 10}}, (30, 10, 1)),
    ({"max_time": 4, "time_metric": "epochs"}, {"checkpoint_policy": "none"}, (24, 6, 0)),
    (
        {"max_length": 100},
        {"checkpoint_policy": "none", "min_checkpoint_period": {"epochs": 3}},
        (100, 6, 3),
    ),
    ({"max_length": {"batches": 4}}, {"records_per_epoch": 80}, (4, 4, 1)),
]


@pytest.mark.parametrize(("searcher", "more", "plan"), PLANS)
def test_the_configuration_has_length_and_periods(
    searcher: dict[str, Any], more: dict[str, Any], plan: tuple[int, int, int]
) -> None:
    assert _fit.plan_of(ExperimentConfig({"searcher": searcher, **more}), BATCH, EPOCH) == plan


def test_a_configuration_without_a_length_is_refused() -> None:
    with pytest.raises(_fit.PlanError, match=r"set searcher.max_length, such as \{epochs: 10\}"):
        _fit.plan_of(ExperimentConfig({"searcher": {"name": "single"}}), BATCH, EPOCH)


def test_options_of_fit_stay_until_they_are_set_again(trial: Trial) -> None:
    context = TFKerasTrialContext.from_config(CONFIG)
    context.configure_fit(verbose=False, shuffle=True, class_weight={0: 1.0})
    context.configure_fit(shuffle=False, class_weight=None)
    assert context._fit_options == {"verbose": False, "shuffle": False, "class_weight": None}


@pytest.mark.parametrize("size", [0, "many"])
def test_a_batch_size_that_makes_no_sense_is_named(size: Any) -> None:
    config = {"hyperparameters": {"global_batch_size": size}}
    with pytest.raises(ValueError, match=f"whole number above 0, got {size!r}"):
        TFKerasTrialContext.from_config(config).get_per_slot_batch_size()


def test_a_cache_of_data_sets_names_that_of_tensorflow() -> None:
    context = TFKerasTrialContext.from_config(CONFIG)
    with pytest.raises(NotImplementedError, match=r"use tf.data.Dataset.cache"):
        context.experimental.cache_train_dataset("train", "v1")
    with pytest.raises(NotImplementedError, match=r"use tf.data.Dataset.cache"):
        context.experimental.cache_validation_dataset("train", "v1")
