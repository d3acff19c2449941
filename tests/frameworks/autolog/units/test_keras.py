"""Models of Keras are recorded."""

from __future__ import annotations

from typing import Any

import keras
import numpy as np
import pytest

from determined import core
from determined.keras import DeterminedCallback

X = np.arange(48.0).reshape(12, 4) / 48
Y = X.sum(axis=1)


@pytest.fixture
def model() -> Any:
    keras.utils.set_random_seed(3)
    model = keras.Sequential([keras.layers.Input((4,)), keras.layers.Dense(1)])
    model.compile(optimizer=keras.optimizers.Adam(0.02), loss="mse", metrics=["mae"])
    return model


def test_fit_records_each_epoch_by_its_batches(trial: Any, model: Any) -> None:
    history = model.fit(X, Y, batch_size=4, epochs=2, validation_data=(X, Y), verbose=0).history
    assert list(trial.reports) == [(g, s) for s in (3, 6) for g in ("training", "validation")]
    for number, step in enumerate((3, 6)):
        assert trial.reports["training", step] == {
            "epochs": number + 1,
            **{name: pytest.approx(history[name][number]) for name in ("loss", "mae")},
        }
        values = trial.reports["validation", step]
        assert values["val_loss"] == pytest.approx(history["val_loss"][number])


def test_fit_records_its_parameters(trial: Any, model: Any) -> None:
    model.fit(X, Y, 4, 1, verbose=0)
    params = trial.params["Sequential"]
    assert (params["epochs"], params["batch_size"], params["weights"]) == (1, 4, 5)
    assert (params["optimizer.name"], params["loss"]) == ("Adam", "mse")
    assert params["optimizer.learning_rate"] == pytest.approx(0.02)


def test_a_second_fit_continues_the_steps_and_an_evaluation_is_at_the_last(
    trial: Any, model: Any
) -> None:
    for _ in range(2):
        model.fit(X, Y, batch_size=4, verbose=0)
    loss, error = model.evaluate(X, Y, verbose=0)
    assert trial.steps("training", "loss") == [3, 6]
    assert trial.reports["validation", 6] == {
        "val_loss": pytest.approx(loss),
        "val_mae": pytest.approx(error),
    }


def test_callbacks_of_the_script_stay(trial: Any, model: Any) -> None:
    epochs: list[int] = []
    mine = keras.callbacks.LambdaCallback(on_epoch_end=lambda epoch, logs: epochs.append(epoch))
    model.fit(X, Y, epochs=2, callbacks=[mine], verbose=0)
    model.fit(X, Y, callbacks=mine, verbose=0)
    assert epochs == [0, 1, 0]
    assert len(trial.steps("training", "loss")) == 3


def test_a_fit_with_our_callback_is_reported_by_that_alone(
    trial: Any, context: core.Context, model: Any
) -> None:
    model.fit(X, Y, batch_size=4, callbacks=[DeterminedCallback(context, None, 7)], verbose=0)
    assert trial.steps("training", "loss") == [3]
    assert trial.params == {}


def test_a_wrong_argument_is_refused_by_keras(trial: Any, model: Any) -> None:
    with pytest.raises(TypeError, match="colour"):
        model.fit(X, Y, colour="red")
