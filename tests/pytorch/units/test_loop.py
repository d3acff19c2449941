"""Reports, checkpoints and callbacks of the training loop."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from toy import EPOCH, Bench, ToyTrial, data, weights

from determined import pytorch
from determined.pytorch import Batch, Epoch


@pytest.fixture
def bench(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Bench:
    place = tmp_path / "code"
    place.mkdir()
    monkeypatch.chdir(place)
    return Bench(tmp_path / "storage")


def test_each_validation_reports_batches_and_epochs(bench: Bench) -> None:
    bench.fit(bench.trial(), max_length=Batch(25), validation_period=Batch(10))
    told = bench.reports.of("validation")
    assert [(s, m["batches"], m["epochs"]) for s, m in told] == [
        (10, 10, 1),
        (20, 20, 2),
        (25, 25, 2),
    ]


def test_a_metric_of_the_trial_overrides_the_count(bench: Bench) -> None:
    class Own(ToyTrial):
        def evaluate_batch(self, batch: Any, batch_idx: int) -> dict[str, Any]:
            return {"epochs": 0.5, "error": batch_idx}

    bench.fit(bench.trial(Own), max_length=Batch(3))
    [(_, metrics)] = bench.reports.of("validation")
    assert metrics == {"batches": 3, "epochs": 0.5, "error": 1.0}


def test_training_is_reported_as_the_mean_of_its_batches(bench: Bench) -> None:
    class Counts(ToyTrial):
        def train_batch(self, batch: Any, epoch_idx: int, batch_idx: int) -> Any:
            return {"n": torch.tensor(float(batch_idx)), "text": "left out of the means"}

    bench.fit(bench.trial(Counts), max_length=Batch(9), reporting_period=Batch(4))
    assert [(s, m) for s, m in bench.reports.of("training")] == [
        (4, {"n": 1.5}),
        (8, {"n": 5.5}),
        (9, {"n": 8.0}),
    ]
    assert bench.reports.progress == [4 / 9, 8 / 9, 1.0]


def test_every_batch_before_a_checkpoint_is_reported(bench: Bench) -> None:
    bench.fit(bench.trial(), max_length=Batch(10), checkpoint_period=Batch(4))
    assert [steps for steps, _ in bench.reports.of("training")] == [4, 8, 10]


def errors(*values: float) -> type:
    """A trial whose validations give these errors in turn."""
    left = list(values)

    class Given(ToyTrial):
        evaluate_batch = pytorch.PyTorchTrial.evaluate_batch

        def evaluate_full_dataset(self, data_loader: Any) -> dict[str, Any]:
            assert sum(len(inputs) for inputs, _ in data_loader) == 10
            return {"error": left.pop(0)}

    return Given


@pytest.mark.parametrize(
    ("policy", "smaller", "steps"),
    [
        ("best", True, [1, 3, 4, 6]),
        ("best", False, [1, 2, 5, 6]),
        ("all", True, [1, 2, 3, 4, 5, 6]),
        ("none", True, [6]),
    ],
)
def test_the_policy_says_which_validations_are_saved(
    bench: Bench, policy: str, smaller: bool, steps: list[int]
) -> None:
    bench.config = {"searcher": {"metric": "error", "smaller_is_better": smaller}}
    bench.fit(
        bench.trial(errors(3.0, 4.0, 2.0, 2.0, 9.0, 5.0)),
        max_length=Batch(6),
        validation_period=Batch(1),
        checkpoint_policy=policy,
    )
    assert bench.steps() == steps


def test_a_metric_that_the_search_lacks_ends_the_trial(bench: Bench) -> None:
    bench.config = {"searcher": {"metric": "accuracy"}}
    with pytest.raises(ValueError, match="'accuracy', but the validation returned error"):
        bench.fit(bench.trial(), max_length=Batch(2))


class Diary(pytorch.PyTorchCallback):
    """Writes down what is called."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def __getattribute__(self, name: str) -> Any:
        found = super().__getattribute__(name)
        if not name.startswith("on_"):
            return found

        def told(*args: Any) -> None:
            self.lines.append(f"{name[3:]} {args[0]}" if "epoch_" in name and args else name[3:])
            found(*args)

        return told

    def state_dict(self) -> dict[str, Any]:
        return {"count": len(self.lines)}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        self.lines.append(f"loaded {state_dict['count']}")


def test_callbacks_are_called_in_their_order(bench: Bench) -> None:
    trial = bench.trial()
    trial.callbacks["diary"] = diary = Diary()
    bench.fit(trial, max_length=Epoch(1))
    lines = [line.split(" [")[0] for line in diary.lines]
    assert lines == [
        "trial_startup",
        "training_start",
        "training_epoch_start 0",
        "training_epoch_end 0",
        "training_workload_end",
        "validation_start",
        "validation_epoch_start",
        "validation_epoch_end",
        "validation_end",
        "checkpoint_save_start",
        "checkpoint_write_end",
        "checkpoint_end",
        "checkpoint_upload_end",
        "trial_shutdown",
    ]
    again = bench.trial()
    again.callbacks["diary"] = diary = Diary()
    bench.fit(again, max_length=Epoch(2), latest_checkpoint=bench.checkpoints()[-1])
    assert diary.lines[:5] == [
        "checkpoint_load_start",
        "loaded 9",
        "trial_startup",
        "training_start",
        "training_epoch_start 1",
    ]


def test_an_error_still_shuts_the_trial_down(bench: Bench) -> None:
    trial = bench.trial()
    trial.callbacks["diary"] = diary = Diary()
    trial.acts[2] = lambda: [][1]
    with pytest.raises(IndexError):
        bench.fit(trial, max_length=Epoch(1))
    assert diary.lines[-1] == "trial_shutdown"


def test_gathered_gradients_step_as_one_large_batch(bench: Bench) -> None:
    class Plain(ToyTrial):
        size = 4

        def __init__(self, context: Any) -> None:
            super().__init__(context)
            self.model = context.models[0] = torch.nn.Linear(4, 1)
            optimizer = torch.optim.SGD(self.model.parameters(), lr=0.1)
            self.optimizer = context.optimizers[0] = optimizer
            context.lr_schedulers.clear()

        def build_training_data_loader(self) -> Any:
            return pytorch.DataLoader(data(4 * EPOCH), batch_size=self.size)

        def train_batch(self, batch: Any, epoch_idx: int, batch_idx: int) -> Any:
            inputs, targets = batch
            loss = ((self.model(inputs) - targets) ** 2).mean()
            self.context.backward(loss)
            clip = torch.nn.utils.clip_grad_norm_
            self.context.step_optimizer(self.optimizer, clip_grads=lambda p: clip(list(p), 0.5))
            return loss

    class Large(Plain):
        size = 8

    few = bench.fit(bench.trial(Large), max_length=Epoch(2))
    many = bench.fit(bench.trial(Plain, aggregation=2), max_length=Epoch(2))
    for one, other in zip(few.model.parameters(), many.model.parameters(), strict=True):
        torch.testing.assert_close(one, other)
    assert not torch.equal(few.model.weight, bench.trial(Large).model.weight)


@pytest.mark.parametrize(
    ("mode", "frequency", "aggregation", "steps"),
    [
        (pytorch.LRScheduler.StepMode.STEP_EVERY_EPOCH, 1, 1, 2),
        (pytorch.LRScheduler.StepMode.STEP_EVERY_EPOCH, 2, 1, 1),
        (pytorch.LRScheduler.StepMode.STEP_EVERY_BATCH, 5, 1, 5),
        (pytorch.LRScheduler.StepMode.STEP_EVERY_OPTIMIZER_STEP, 2, 3, 4),
        (pytorch.LRScheduler.StepMode.MANUAL_STEP, 1, 1, 0),
    ],
)
def test_schedulers_are_stepped_as_they_ask(
    bench: Bench, mode: Any, frequency: int, aggregation: int, steps: int
) -> None:
    trial = bench.trial(aggregation=aggregation)
    trial.context.lr_schedulers.clear()
    made = torch.optim.lr_scheduler.StepLR(trial.optimizer, 1, gamma=0.5)
    trial.context.wrap_lr_scheduler(made, mode, frequency)
    bench.fit(trial, max_length=Batch(25))
    assert made.last_epoch == steps


class Confusion(pytorch.MetricReducer):
    """Counts in a tensor."""

    def __init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        self.counts = torch.zeros(2)

    def per_slot_reduce(self) -> Any:
        return {"counts": self.counts}

    def cross_slot_reduce(self, per_slot_metrics: list[Any]) -> Any:
        return {"sum": sum(part["counts"] for part in per_slot_metrics)}


def test_reducers_make_metrics_of_all_batches(bench: Bench) -> None:
    class Reduces(ToyTrial):
        def __init__(self, context: Any) -> None:
            super().__init__(context)
            self.confusion = context.wrap_reducer(Confusion(), for_training=False)
            self.largest = context.wrap_reducer(max, name="largest", for_validation=False)

        def train_batch(self, batch: Any, epoch_idx: int, batch_idx: int) -> Any:
            self.largest.update(batch_idx)
            return super().train_batch(batch, epoch_idx, batch_idx)

        def evaluate_batch(self, batch: Any, batch_idx: int) -> dict[str, Any]:
            self.confusion.counts += torch.tensor([1, len(batch[0])])
            return {"low": batch_idx, "high": batch_idx, "size": len(batch[0]), "mean": [1, 3]}

        def evaluation_reducer(self) -> Any:
            kinds = pytorch.Reducer
            return {
                "low": kinds.MIN, "high": kinds.MAX, "size": kinds.SUM, "mean": kinds.AVG
            }  # fmt: skip

    bench.fit(bench.trial(Reduces), max_length=Batch(6), validation_period=Batch(3),
              reporting_period=Batch(3))  # fmt: skip
    assert [m["largest"] for _, m in bench.reports.of("training")] == [2, 5]
    for _, metrics in bench.reports.of("validation"):
        assert metrics["sum"] == [3.0, 10.0]
        assert (metrics["low"], metrics["high"], metrics["size"]) == (0, 2, 10)
        assert metrics["mean"] == [1, 3]


def test_a_trial_can_stop_itself(bench: Bench) -> None:
    trial = bench.trial()
    trial.acts[3] = lambda: trial.context.set_stop_requested(True)
    bench.fit(trial, max_length=Batch(20))
    assert len(trial.seen) == 4
    assert bench.steps() == [4]


def test_the_test_mode_trains_and_validates_one_batch(bench: Bench) -> None:
    trial = bench.fit(bench.trial(), max_length=Epoch(5), test_mode=True)
    assert trial.seen == [(0, 0)]
    assert len(bench.reports.of("validation")) == 1


def test_the_context_knows_where_training_is(bench: Bench) -> None:
    trial = bench.trial()
    with pytest.raises(RuntimeError, match="not started"):
        trial.context.current_train_batch()
    seen = []

    def look() -> None:
        context = trial.context
        seen.append((context.current_train_epoch(), context.is_epoch_start()))
        seen.append((context.current_train_batch(), context.is_epoch_end()))

    trial.acts = {EPOCH: look, 2 * EPOCH - 1: look}
    bench.fit(trial, max_length=Epoch(2))
    assert seen == [(1, True), (10, False), (1, False), (19, True)]


def test_a_torch_data_loader_must_be_allowed(bench: Bench) -> None:
    class Raw(ToyTrial):
        def build_training_data_loader(self) -> Any:
            return torch.utils.data.DataLoader(data(12), batch_size=4)

    with pytest.raises(TypeError, match="disable_dataset_reproducibility_checks"):
        bench.fit(bench.trial(Raw), max_length=Batch(2))
    allowed = bench.trial(Raw)
    allowed.context.experimental.disable_dataset_reproducibility_checks()
    bench.fit(allowed, max_length=Epoch(2))
    assert [epoch for epoch, _ in allowed.seen] == [0, 0, 0, 1, 1, 1]


@pytest.mark.parametrize(
    ("arguments", "match"),
    [
        ({}, "needs max_length"),
        ({"max_length": Batch(1), "checkpoint_policy": "some"}, "best, all, none"),
    ],
)
def test_arguments_that_cannot_be_used_are_named(
    bench: Bench, arguments: dict[str, Any], match: str
) -> None:
    with pytest.raises(ValueError, match=match):
        bench.fit(bench.trial(), **arguments)


def test_return_values_of_a_trial_are_checked(bench: Bench) -> None:
    class Silent(ToyTrial):
        def train_batch(self, batch: Any, epoch_idx: int, batch_idx: int) -> Any:
            return None

    with pytest.raises(TypeError, match="got NoneType"):
        bench.fit(bench.trial(Silent), max_length=Batch(1))

    class Neither(ToyTrial):
        evaluate_batch = pytorch.PyTorchTrial.evaluate_batch

    with pytest.raises(ValueError, match="exactly one of evaluate_batch and"):
        bench.fit(bench.trial(Neither), max_length=Batch(1))


def test_a_scheduler_of_a_strange_optimizer_is_refused(bench: Bench) -> None:
    context = bench.trial().context
    strange = torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))], lr=1)
    scheduler = torch.optim.lr_scheduler.StepLR(strange, 1)
    with pytest.raises(ValueError, match="not wrapped"):
        context.wrap_lr_scheduler(scheduler, pytorch.LRScheduler.StepMode.MANUAL_STEP)


def test_models_of_the_same_seed_are_the_same(bench: Bench) -> None:
    assert weights(bench.trial(seed=4)) == weights(bench.trial(seed=4))
    assert weights(bench.trial(seed=4)) != weights(bench.trial(seed=5))
