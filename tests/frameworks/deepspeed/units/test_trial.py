"""One rank: batches of micro batches, reports, checkpoints, and what is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from world import MICRO_BATCH, MICRO_BATCHES, Runs, SmallTrial, configuration, data, weights

from determined import pytorch
from determined.pytorch import deepspeed as det_ds


@pytest.fixture(scope="module", autouse=True)
def process_group() -> None:
    with det_ds.init():
        """The group lives as long as the process."""


@pytest.fixture
def runs(tmp_path: Path) -> Runs:
    return Runs(tmp_path)


def test_a_batch_has_all_of_its_micro_batches(runs: Runs) -> None:
    trial = runs.fit(runs.trial(), reporting_period=pytorch.Batch(5))
    assert trial.seen[:4] == [(0, 0), (0, 0), (0, 1), (0, 1)]
    assert trial.seen[-1] == (1, 11)  # an epoch of 40 records has 10 batches of 2 times 2
    assert trial.engine.global_steps == 12
    assert list(runs.reports.made["training"]) == [5, 6, 10, 12]
    assert sorted(runs.reports.made["validation"]) == [6, 12]
    assert trial.evaluated == [0, 1, 2, 3, 4] * 2
    assert runs.reports.made["validation"][12].keys() == {"batches", "epochs", "error"}
    first_epoch = trial.records[:40]
    assert len(set(first_epoch)) == 40


def test_a_report_averages_micro_batches(runs: Runs) -> None:
    class Counting(SmallTrial):
        def train_batch(self, *arguments: Any) -> Any:
            super().train_batch(*arguments)
            return {"call": len(self.seen), "name": "text"}

    runs.fit(runs.trial(Counting), max_length=pytorch.Batch(1))
    assert runs.reports.made["training"][1] == {"call": 1.5}


def test_a_trial_that_accumulates_itself_is_called_once_a_batch(runs: Runs) -> None:
    class Accumulating(SmallTrial):
        def __init__(self, context: Any) -> None:
            context.disable_auto_grad_accumulation()
            super().__init__(context)

        def train_batch(self, *arguments: Any) -> Any:
            losses = [super(Accumulating, self).train_batch(*arguments) for _ in "12"]
            return sum(losses) / 2

        def evaluate_batch(self, *arguments: Any) -> Any:
            errors = [super(Accumulating, self).evaluate_batch(*arguments)["error"] for _ in "12"]
            return {"error": sum(errors) / 2}

    trial = runs.fit(runs.trial(Accumulating))
    assert (trial.engine.global_steps, len(trial.seen)) == (12, 24)
    assert trial.evaluated == [0, 0, 1, 1] * 2  # a fifth micro batch is no batch


def test_a_resumed_trial_is_bit_by_bit_the_same(runs: Runs) -> None:
    whole = runs.fit(runs.trial(), checkpoint_policy="none")
    known = runs.checkpoints()
    parted = runs.trial()
    parted.acts[6] = lambda: setattr(parted.context._core.preempt, "now", True)
    runs.fit(parted, checkpoint_policy="none")
    assert parted.engine.global_steps == 7
    (saved,) = runs.checkpoints() - known
    names = {path.name for path in (runs.storage / saved).iterdir()}
    assert {"model0", "det_state_dict_rank0.pth", "load_data.json", "metadata.json"} <= names
    resumed = runs.fit(runs.trial(), latest_checkpoint=saved, checkpoint_policy="none")
    assert weights(resumed) == weights(whole)
    assert parted.records + resumed.records == whole.records


def test_a_checkpoint_of_another_trial_gives_its_model_alone(runs: Runs) -> None:
    runs.fit(runs.trial(), max_length=pytorch.Batch(3))
    (saved,) = runs.checkpoints()
    runs.trial_id = 8
    other = runs.trial()
    before = weights(other)
    other.acts[0] = lambda: other.acts.setdefault(-1, weights(other))
    runs.fit(other, latest_checkpoint=saved, max_length=pytorch.Batch(1))
    assert other.seen[0] == (0, 0)
    assert other.acts[-1] != before


def test_callbacks_are_saved_and_see_the_checkpoint(runs: Runs) -> None:
    class Counter(pytorch.PyTorchCallback):
        def __init__(self) -> None:
            self.count = 0
            self.calls: list[str] = []

        def on_training_workload_end(self, *_: Any) -> None:
            self.count += 1

        def on_checkpoint_write_end(self, checkpoint_dir: str) -> None:
            Path(checkpoint_dir, "note.txt").write_text("added")
            self.calls.append("write")

        def on_checkpoint_upload_end(self, uuid: str) -> None:
            self.calls.append(uuid)

        def state_dict(self) -> dict[str, Any]:
            return {"count": self.count}

        def load_state_dict(self, state_dict: dict[str, Any]) -> None:
            self.count = state_dict["count"]

    first = runs.trial()
    first.callbacks["counter"] = counter = Counter()
    runs.fit(first, max_length=pytorch.Batch(3))
    (saved,) = runs.checkpoints()
    assert counter.calls == ["write", saved]
    assert (runs.storage / saved / "note.txt").read_text() == "added"
    second = runs.trial()
    second.callbacks["counter"] = again = Counter()
    runs.fit(second, latest_checkpoint=saved, max_length=pytorch.Batch(3))
    assert again.count == counter.count


def test_batch_sizes_are_the_engines_or_the_hyperparameters(runs: Runs) -> None:
    context = runs.trial().context
    assert context.train_micro_batch_size_per_gpu == MICRO_BATCH
    assert context.num_micro_batches_per_slot == MICRO_BATCHES
    assert context.get_global_batch_size() == context.get_per_slot_batch_size() == 4
    runs.hparams = {"global_batch_size": 8}
    assert runs.trial().context.get_global_batch_size() == 8


def test_a_whole_dataset_is_evaluated_at_once(runs: Runs) -> None:
    class AtOnce(SmallTrial):
        evaluate_batch = det_ds.DeepSpeedTrial.evaluate_batch

        def evaluate_full_dataset(self, data_loader: Any) -> dict[str, Any]:
            return {"records": sum(len(inputs) for inputs, _ in data_loader)}

    runs.fit(runs.trial(AtOnce), max_length=pytorch.Batch(1))
    assert runs.reports.made["validation"][1]["records"] == 10


class NoEngine(SmallTrial):
    def __init__(self, context: Any) -> None:
        self.context = context


class TorchLoader(SmallTrial):
    def build_training_data_loader(self) -> Any:
        return torch.utils.data.DataLoader(torch.ones(4, 4), batch_size=2)


class Both(SmallTrial):
    def evaluate_full_dataset(self, data_loader: Any) -> dict[str, Any]:
        return {}


class Nothing(SmallTrial):
    def train_batch(self, *arguments: Any) -> Any:
        super().train_batch(*arguments)


@pytest.mark.parametrize(
    ("kind", "error", "text"),
    [
        (NoEngine, ValueError, "has wrapped no engine: call context.wrap_model_engine"),
        (TorchLoader, TypeError, "first call context.disable_dataset_reproducibility_checks()"),
        (Both, ValueError, "must implement exactly one of evaluate_batch"),
        (Nothing, TypeError, "train_batch must return the loss as a tensor or a dict of metrics"),
    ],
)
def test_untrainable_trials_are_refused(
    runs: Runs, kind: type[SmallTrial], error: type[Exception], text: str
) -> None:
    with pytest.raises(error) as raised:
        runs.fit(runs.trial(kind))
    assert text in str(raised.value)


def test_validation_data_for_no_whole_batch_are_refused_with_the_remedy(runs: Runs) -> None:
    class TooFew(SmallTrial):
        def __init__(self, context: Any) -> None:
            context.disable_auto_grad_accumulation()
            super().__init__(context)

        def build_validation_data_loader(self) -> Any:
            return pytorch.DataLoader(data(MICRO_BATCH), batch_size=MICRO_BATCH)

    with pytest.raises(ValueError, match=r"no batch of 2 micro batches.*smaller batch_size"):
        runs.fit(runs.trial(TooFew), max_length=pytorch.Batch(1))


def test_a_context_refuses_other_engines_and_late_roles(runs: Runs) -> None:
    trial = runs.trial()
    with pytest.raises(TypeError, match=r"the engine that deepspeed.initialize returns"):
        trial.context.wrap_model_engine(torch.nn.Linear(1, 1))
    with pytest.raises(RuntimeError, match=r"before context.wrap_model_engine"):
        trial.context.set_mpu(det_ds.make_data_parallel_mpu(trial.context.distributed))
    silent = det_ds.ModelParallelUnit(0, 1, False, True)
    with pytest.raises(ValueError, match="should_report_metrics is False on all ranks"):
        runs.trial(NoEngine).context.set_mpu(silent)
    with pytest.raises(RuntimeError, match="no engine is wrapped yet"):
        runs.trial(NoEngine).context.get_train_micro_batch_size_per_gpu()


def test_a_configuration_is_overwritten_section_by_section(tmp_path: Path) -> None:
    base = configuration()
    merged = det_ds.overwrite_deepspeed_config(base, {"zero_optimization": {"offload": True}})
    assert merged["zero_optimization"] == {"stage": 0, "offload": True}
    assert base["zero_optimization"] == {"stage": 0}
    file = tmp_path / "ds.json"
    file.write_text('{"steps": 1}')
    assert det_ds.overwrite_deepspeed_config(str(file), {"more": 2}) == {"steps": 1, "more": 2}
    file.write_text("steps: 1")
    with pytest.raises(ValueError, match=r"ds.json is no JSON"):
        det_ds.overwrite_deepspeed_config(str(file), {})
    with pytest.raises(TypeError, match="source_ds_dict must be a dict, got list"):
        det_ds.overwrite_deepspeed_config({}, [])  # type: ignore[arg-type]
