"""Trainers of Lightning are recorded, by both of its names."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

import lightning.pytorch as pl
import pytest
import pytorch_lightning
import torch

from determined import core
from determined.lightning import DetCallback


def module_of(library: Any) -> Any:
    class Module(library.LightningModule):
        def __init__(self, rate: float = 0.05) -> None:
            super().__init__()
            self.save_hyperparameters()
            self.layer = torch.nn.Linear(2, 1)

        def training_step(self, batch: Any, _: int) -> Any:
            loss = self.layer(batch).pow(2).mean()
            self.log("train_loss", loss, on_step=True, on_epoch=True)
            return loss

        def validation_step(self, batch: Any, _: int) -> None:
            self.log("val_loss", self.layer(batch).abs().mean())

        test_step = validation_step

        def configure_optimizers(self) -> Any:
            return torch.optim.SGD(self.parameters(), lr=self.hparams.rate)

    return Module()


def trainer_of(library: Any, place: Path, **options: Any) -> Any:
    return library.Trainer(
        max_epochs=2,
        log_every_n_steps=2,
        default_root_dir=place,
        accelerator="cpu",
        logger=False,
        enable_checkpointing="callbacks" in options,
        enable_progress_bar=False,
        enable_model_summary=False,
        **options,
    )


def loader() -> Any:
    return torch.utils.data.DataLoader(torch.rand(8, 2), batch_size=2)


@pytest.mark.parametrize("library", [pl, pytorch_lightning])
def test_fit_records_metrics_by_step_and_hyperparameters(
    trial: Any, tmp_path: Path, library: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    trainer = trainer_of(library, tmp_path)
    trainer.fit(module_of(library), loader(), loader())
    assert trial.steps("training", "train_loss_step") == [2, 4, 6, 8]
    assert trial.steps("training", "train_loss_epoch") == [4, 8]
    assert trial.steps("validation", "val_loss") == [4, 8]
    params = trial.params["Module"]
    assert (params["rate"], params["max_epochs"]) == (0.05, 2)
    assert (params["optimizer.name"], params["optimizer.lr"]) == ("SGD", 0.05)
    assert trainer.loggers == []


def test_a_fit_with_our_callback_is_reported_by_that_alone(
    trial: Any, context: core.Context, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    trainer = trainer_of(pl, tmp_path, callbacks=[DetCallback(context)])
    with caplog.at_level(logging.WARNING, "determined"):
        trainer.fit(module_of(pl), loader(), loader())
    assert trial.steps("validation", "val_loss") == [4, 8]
    assert trial.params == {}
    assert not [one for one in caplog.records if one.name.startswith("determined")]


def test_a_validation_outside_of_fit_is_recorded(trial: Any, tmp_path: Path) -> None:
    trainer_of(pl, tmp_path).validate(module_of(pl), loader(), verbose=False)
    assert trial.steps("validation", "val_loss") == [0]
