"""A network is trained by `fit` of Keras, as a trial."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import keras
import pytest
from small import EPOCH, EPOCHS, AtEpoch, Trial, build, weights

from determined.keras import DeterminedCallback, TensorBoard
from determined.keras.callbacks import Callback, EarlyStopping, ReduceLROnPlateau

END = EPOCHS * EPOCH


@pytest.fixture
def trial(tmp_path: Path) -> Trial:
    return Trial(tmp_path)


def preempts_after(trial: Trial, epochs: int) -> AtEpoch:
    return AtEpoch(epochs - 1, lambda: setattr(trial.preempt, "now", True))


def test_a_training_is_reported_and_saved(trial: Trial) -> None:
    trial.run()
    training, validation = trial.reports.made["training"], trial.reports.made["validation"]
    assert sorted(training) == sorted(validation) == [EPOCH, 2 * EPOCH, END]
    assert training[END]["loss"] < training[EPOCH]["loss"]
    assert set(training[EPOCH]) == {"loss", "mae", "epochs", "batches"}
    assert set(validation[EPOCH]) == {"val_loss", "val_mae", "epochs", "batches"}
    assert [(m["epochs"], m["batches"]) for m in validation.values()] == [
        (1, EPOCH),
        (2, 2 * EPOCH),
        (3, END),
    ]
    assert trial.reports.progress == sorted(set(trial.reports.progress))
    assert trial.reports.progress[-1] == 1
    assert trial.steps() == [EPOCH, 2 * EPOCH, END]
    last = trial.checkpoints()[-1]
    assert last["framework"] == f"keras-{keras.__version__}"
    assert (last["continue_id"], last["backend"]) == (7, keras.backend.backend())


@pytest.mark.parametrize("epochs", [1, 2])
def test_a_preempted_training_resumes_with_its_next_epoch_bit_by_bit(
    trial: Trial, tmp_path: Path, epochs: int
) -> None:
    whole = Trial(tmp_path / "whole").run()
    trial.callbacks = [preempts_after(trial, epochs)]
    trial.run()
    assert trial.steps()[-1] == epochs * EPOCH
    seen = AtEpoch(-1, None)
    trial.callbacks = [seen]
    resumed = trial.run()
    assert seen.epochs == list(range(epochs, EPOCHS))
    assert min(trial.reports.made["training"]) == (epochs + 1) * EPOCH
    assert weights(resumed) == weights(whole)


def test_training_metrics_are_reported_each_few_batches(trial: Trial) -> None:
    trial.options = {"train_metrics_report_period": 4}
    trial.run()
    training = trial.reports.made["training"]
    assert sorted(training) == [4, 8, 12, 16]
    assert [round(m["epochs"], 3) for m in training.values()] == [0.667, 1.333, 2, 2.667]


@pytest.mark.parametrize(("every", "steps"), [(0, [END]), (2, [2 * EPOCH, END]), (5, [END])])
def test_a_training_is_saved_each_few_epochs_and_at_its_end(
    trial: Trial, every: int, steps: list[int]
) -> None:
    trial.options = {"checkpoint_epochs": every}
    trial.run()
    assert trial.steps() == steps


def test_a_preempted_training_saves_where_nothing_else_does(trial: Trial) -> None:
    trial.options = {"checkpoint_epochs": 0}
    trial.callbacks = [preempts_after(trial, 2)]
    trial.run()
    assert trial.steps() == [2 * EPOCH]


def test_a_finished_training_trains_no_more(trial: Trial) -> None:
    trained = weights(trial.run())
    assert weights(trial.run()) == trained
    assert trial.reports.made == {}
    assert trial.steps() == [EPOCH, 2 * EPOCH, END]


def test_the_checkpoint_of_another_training_gives_the_weights_alone(trial: Trial) -> None:
    trained = trial.run()
    before = [keras.ops.convert_to_numpy(one.value) for one in trained.weights]
    trial.trial_id = 8
    seen: list[Any] = []

    def look() -> None:
        seen.extend(keras.ops.convert_to_numpy(one.value) for one in trial.model.weights)
        assert int(trial.model.optimizer.iterations.numpy()) == 0

    trial.callbacks = [AtEpoch(0, look)]
    trial.run(epochs=1)
    assert [one.tobytes() for one in seen] == [one.tobytes() for one in before]
    assert trial.steps()[-1] == EPOCH


@pytest.mark.parametrize(
    ("length", "end"), [({"batches": 4}, 4), ({"epochs": 2}, 2 * EPOCH), ({"epochs": 5}, END)]
)
def test_the_searchers_length_ends_the_training(
    trial: Trial, length: Any, end: int, caplog: pytest.LogCaptureFixture
) -> None:
    trial.searcher["max_length"] = length
    trial.run()
    assert trial.steps()[-1] == end
    assert max(trial.reports.made["validation"]) == end
    assert ("pass epochs=5 to fit" in caplog.text) == (length == {"epochs": 5})
    trial.run()
    assert trial.steps()[-1] == end
    assert trial.reports.made["training"] == {}


def test_a_length_in_records_is_refused(trial: Trial) -> None:
    trial.searcher["max_length"] = {"records": 100}
    with pytest.raises(
        ValueError, match=r"100 records cannot be counted .*: use batches or epochs"
    ):
        trial.run()


class Notes(Callback):
    """Keeps what it is told."""

    def __init__(self) -> None:
        super().__init__()
        self.begins: list[Any] = []
        self.saved: list[str] = []

    def on_train_workload_begin(self, total_batches_trained: int, *arguments: Any) -> None:
        self.begins.append((total_batches_trained, arguments[0]))

    def on_checkpoint_end(self, checkpoint_dir: str) -> None:
        self.saved = sorted(path.name for path in Path(checkpoint_dir).iterdir())

    def get_state(self) -> Any:
        return self.begins

    def load_state(self, state: Any) -> None:
        self.begins = state


def test_the_state_of_callbacks_is_a_part_of_a_checkpoint(trial: Trial) -> None:
    stopping = EarlyStopping("val_loss", patience=9, baseline=0.0)
    trial.callbacks = [Notes(), stopping, ReduceLROnPlateau(), preempts_after(trial, 2)]
    trial.run()
    assert (stopping.wait, stopping.test_end_count) == (2, 2)
    notes, stopping = Notes(), EarlyStopping("val_loss", patience=9, baseline=0.0)
    trial.callbacks = [notes, stopping]
    trial.run()
    assert notes.begins == [(0, EPOCH), (EPOCH, EPOCH), (2 * EPOCH, EPOCH)]
    assert notes.saved == [
        "determined_keras.json",
        "model.weights.h5",
        "training_state.0.pkl",
    ]
    assert (stopping.wait, stopping.test_end_count) == (3, 3)


def test_a_training_that_has_stopped_early_trains_no_more(trial: Trial) -> None:
    trial.callbacks = [EarlyStopping("loss", patience=1, mode="max")]
    trial.run()
    assert trial.steps() == [EPOCH, 2 * EPOCH]
    trial.callbacks = []
    trial.run()
    assert trial.reports.made["training"] == {}


def test_a_callback_with_a_state_behind_it_is_refused(trial: Trial) -> None:
    model, callback = build(), trial.made_callback()
    with pytest.raises(ValueError, match="list the DeterminedCallback behind EarlyStopping"):
        model.fit(
            keras.ops.ones((8, 4)),
            keras.ops.ones((8, 1)),
            callbacks=[callback, EarlyStopping()],
            verbose=0,
        )


def test_a_second_callback_is_refused(trial: Trial) -> None:
    trial.callbacks = [trial.made_callback()]
    with pytest.raises(ValueError, match=r"has two DeterminedCallbacks, .*: remove one"):
        trial.run()


def test_it_works_outside_of_a_trial(trial: Trial) -> None:
    trial.is_managed = False
    trial.run(epochs=1)
    assert trial.steps() == [EPOCH]


def test_an_evaluation_after_the_training_is_reported(trial: Trial) -> None:
    model, callback = build(), trial.made_callback()
    records, labels = keras.ops.ones((8, 4)), keras.ops.ones((8, 1))
    model.fit(records, labels, callbacks=[callback], verbose=0)
    model.evaluate(records, labels, callbacks=[callback], verbose=0)
    [(steps, metrics)] = trial.reports.made["validation"].items()
    assert (steps, metrics["epochs"], "val_loss" in metrics) == (1, 1, True)
    model.predict(records, callbacks=[callback], verbose=0)


def test_a_loss_that_is_no_number_is_reported_as_it_is(trial: Trial) -> None:
    def diverging() -> Any:
        model = build()
        model.optimizer.learning_rate = 1e30
        return model

    trial.build = diverging
    trial.run()
    assert any(not math.isfinite(m["loss"]) for m in trial.reports.made["training"].values())


def test_a_checkpoint_of_another_model_is_named(trial: Trial) -> None:
    trial.run(epochs=1)
    uuid = trial.checkpoints()[-1]["path"].name
    trial.build = lambda: build(width=9)
    with pytest.raises(ValueError, match=rf"checkpoint {uuid} does not fit model 'sequential"):
        trial.run()


def test_a_checkpoint_of_another_program_is_named(trial: Trial) -> None:
    context = trial.context()
    with context.checkpoint.store_path({"steps_completed": 1}) as (path, uuid):
        (path / "state.pt").write_text("")
    text = (
        rf"checkpoint {uuid} was not stored by .*: it has .*state.pt, and no determined_keras.json"
    )
    with pytest.raises(ValueError, match=text):
        trial.run()


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"train_metrics_report_period": 0}, "'epoch' or a number of batches, got 0"),
        ({"train_metrics_report_period": "batch"}, "'epoch' or a number of batches, got 'batch'"),
        ({"checkpoint_epochs": -1}, "must be 0 or more epochs, got -1"),
    ],
)
def test_an_argument_that_makes_no_sense_is_named(trial: Trial, options: Any, text: str) -> None:
    trial.options = options
    with pytest.raises(ValueError, match=text):
        trial.made_callback()


def test_another_value_than_a_context_is_named() -> None:
    with pytest.raises(TypeError, match=r"must be what core.init\(\) returns, got str"):
        DeterminedCallback("context", None, 1)  # type: ignore[arg-type]


class Whole(DeterminedCallback):
    """Writes the model with its layers."""

    def save_model(self, model: Any, path: str, distributed: Any) -> None:
        model.save(f"{path}/whole.keras")

    def load_model(self, model: Any, path: str, distributed: Any) -> None:
        model.set_weights(keras.models.load_model(f"{path}/whole.keras").get_weights())


def test_a_subclass_may_write_other_files(trial: Trial) -> None:
    trial.callback = Whole
    trained = trial.run()
    assert (trial.checkpoints()[-1]["path"] / "whole.keras").exists()
    again = trial.run()
    for one, other in zip(trained.get_weights(), again.get_weights(), strict=True):
        assert one.tobytes() == other.tobytes()


def test_files_for_tensorboard_lie_in_the_trials_place(trial: Trial) -> None:
    context = trial.context()
    board = TensorBoard(context, update_freq="batch")
    assert board.log_dir == str(context.train.get_tensorboard_path())
    with pytest.raises(TypeError, match="leave out log_dir"):
        TensorBoard(context, "logs")
