"""A trainer of Lightning logs to an experiment."""

from __future__ import annotations

import sys
import types
from argparse import Namespace
from pathlib import Path
from typing import Any

import lightning.pytorch as pl
import pytest
import pytorch_lightning
import torch
from small import BATCH, EPOCH, RECORDS, module_of
from tests.frameworks.small_trial import Reports
from tests.names.resolve import problem

from determined import core
from determined.experimental import core_v2
from determined.lightning.experimental import DetLogger

NAMES = (Path(__file__).parents[3] / "data" / "published_names.txt").read_text().splitlines()


class Opened:
    """What `core_v2.init` was called with, and the context that it made."""

    def __init__(self) -> None:
        self.reports = Reports()
        self.arguments: list[dict[str, Any]] = []


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Opened:
    made = Opened()

    def init(**arguments: Any) -> None:
        made.arguments.append(arguments)
        context = core.make_dummy_context(None, str(tmp_path / "storage"))
        context.train = made.reports
        trial = types.SimpleNamespace(experiment_id=3, trial_id=5)
        context.info = types.SimpleNamespace(trial=trial)  # type: ignore[assignment]
        monkeypatch.setattr(core_v2, "_context", context)

    monkeypatch.setattr(core_v2, "_context", None)
    monkeypatch.setattr(core_v2, "init", init)
    return made


@pytest.mark.parametrize(
    "library", [pl, pytorch_lightning], ids=["lightning", "pytorch_lightning"]
)
def test_a_training_is_reported(opened: Opened, tmp_path: Path, library: Any) -> None:
    logger = DetLogger(defaults=core_v2.DefaultConfig(name="at home", hparams={"rate": 0.5}))
    trainer = library.Trainer(
        logger=logger,
        max_epochs=2,
        log_every_n_steps=3,
        default_root_dir=tmp_path,
        accelerator="cpu",
        enable_progress_bar=False,
        enable_model_summary=False,
        enable_checkpointing=False,
    )
    data = torch.utils.data.DataLoader(torch.ones(RECORDS, 2), batch_size=BATCH)
    model = module_of(library)
    trainer.fit(model, data, data)
    trainer.test(model, data, verbose=False)
    made = opened.reports.made
    last = 2 * EPOCH - 1
    assert sorted(made["training"]) == [2, 5, 8, 11]
    assert set(made["training"][last]) == {"train_loss_step", "train_loss_epoch", "epoch"}
    assert sorted(made["validation"]) == [EPOCH - 1, last]
    assert [m["epoch"] for m in made["validation"].values()] == [0, 1]
    assert made["validation"][last]["val_loss"] < made["validation"][EPOCH - 1]["val_loss"]
    assert [set(m) for m in made["test"].values()] == [{"test_loss", "epoch"}]
    [arguments] = opened.arguments
    assert arguments["defaults"].name == "at home"
    assert arguments["defaults"].hparams == {"rate": 0.5, "shape": "(2, 1)"}


def test_name_and_version_are_ids_once_there_is_an_experiment(opened: Opened) -> None:
    logger = DetLogger()
    assert (logger.name, logger.version, logger.experiment) == (None, None, None)
    logger.log_hyperparams(Namespace(rate=1))
    assert (logger.name, logger.version) == ("3", 5)
    assert opened.arguments[0]["defaults"].hparams == {"rate": 1}


def test_an_open_experiment_is_used(opened: Opened) -> None:
    core_v2.init()
    logger = DetLogger()
    logger.log_metrics({"loss": 1.0}, 4)
    logger.log_metrics({"accuracy": 0.5}, 4)
    assert opened.reports.made == {}
    logger.finalize("success")
    assert opened.reports.made == {"training": {4: {"loss": 1.0, "accuracy": 0.5}}}
    assert len(opened.arguments) == 1


def test_ranks_other_than_the_first_report_nothing(
    opened: Opened, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pl.utilities.rank_zero_only, "rank", 1, raising=False)
    logger = DetLogger()
    logger.log_hyperparams({"rate": 1})
    logger.log_metrics({"loss": 1.0}, 4)
    logger.finalize("success")
    assert (opened.arguments, opened.reports.made) == ([], {})


def test_every_name_is_ours() -> None:
    names = [name for name in NAMES if name.startswith("determined.lightning")]
    assert len(names) > 5
    assert {name: text for name in names if (text := problem(name))} == {}


def test_an_unsupported_lightning_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pl, "__version__", "1.9.5")
    monkeypatch.delitem(sys.modules, "determined.lightning._lightning")
    with pytest.raises(ImportError, match=r"works with Lightning 2, and this Python has 1.9.5"):
        import determined.lightning._lightning  # noqa: F401
