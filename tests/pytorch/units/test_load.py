"""Loading a trial from its checkpoint."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from toy import Bench, ToyTrial, weights

from determined import pytorch

CODE = """
import torch
from determined import pytorch

class Model(pytorch.PyTorchTrial):
    def __init__(self, context, scale=1):
        self.scale = scale
        self.width = context.get_hparam("width")
        self.model = context.wrap_model(torch.nn.Linear(self.width, 1))
    def train_batch(self, batch, epoch_idx, batch_idx):
        return batch.sum()
    def evaluate_batch(self, batch, batch_idx):
        return {"x": 1}
    def build_training_data_loader(self):
        return pytorch.DataLoader(torch.zeros(4, 2), batch_size=2)
    build_validation_data_loader = build_training_data_loader
"""


@pytest.fixture
def bench(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Bench:
    place = tmp_path / "code"
    place.mkdir()
    (place / "models.py").write_text(CODE)
    monkeypatch.chdir(place)
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "home"))
    return Bench(tmp_path / "storage")


def test_a_checkpoint_holds_all_that_builds_its_trial(bench: Bench) -> None:
    from determined import import_from_path

    with import_from_path(Path.cwd()):
        import models  # type: ignore[import-not-found]
    made = bench.trial(lambda context: _with_width(models.Model, context))
    bench.fit(made, max_length=pytorch.Batch(1))
    folder = bench.storage / bench.checkpoints()[-1]
    (Path.cwd() / "models.py").unlink()  # the checkpoint's own copy is used
    loaded = pytorch.load_trial_from_checkpoint_path(str(folder), trial_kwargs={"scale": 7})
    assert (type(loaded).__name__, loaded.width, loaded.scale) == ("Model", 3, 7)
    assert torch.equal(loaded.model.weight.cpu(), made.model.weight.cpu())
    assert made.model.weight is not loaded.model.weight


def test_the_class_may_be_given(bench: Bench) -> None:
    trained = bench.fit(bench.trial(), max_length=pytorch.Batch(3))
    folder = str(bench.storage / bench.checkpoints()[-1])
    loaded = pytorch.load_trial_from_checkpoint_path(folder, ToyTrial)
    assert weights(loaded)[:4] == weights(trained)[:4]
    wide = type("Wide", (ToyTrial,), {"__init__": _two_models})
    with pytest.raises(ValueError, match="1 models and the trial wraps 2"):
        pytorch.load_trial_from_checkpoint_path(folder, wide)


def test_a_directory_without_trial_checkpoint_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="has no state_dict"):
        pytorch.load_trial_from_checkpoint_path(str(tmp_path))


def _with_width(kind: type, context: pytorch.PyTorchTrialContext) -> pytorch.PyTorchTrial:
    context._hparams = {"width": 3}
    trial = kind(context)
    trial.context = context
    return trial


def _two_models(self: ToyTrial, context: pytorch.PyTorchTrialContext) -> None:
    for _ in range(2):
        context.wrap_model(torch.nn.Linear(1, 1))
