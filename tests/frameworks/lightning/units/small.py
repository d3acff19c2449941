"""A small network, and runs of a trial that trains it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import lightning.pytorch as pl
import torch
from tests.frameworks.small_trial import SmallTrial

from determined.lightning import DetCallback

RECORDS = 12
BATCH = 2
EPOCH = RECORDS // BATCH
"""Steps of an epoch."""
EPOCHS = 3


class AtEpoch(pl.Callback):
    """Calls a function at the begin of an epoch."""

    def __init__(self, epoch: int, act: Any) -> None:
        self._epoch, self._act = epoch, act
        self.epochs: list[int] = []

    def on_train_epoch_start(self, trainer: Any, pl_module: Any) -> None:
        self.epochs.append(trainer.current_epoch)
        if trainer.current_epoch == self._epoch:
            self._act()


def module_of(library: Any, width: int = 4) -> Any:
    """A network with dropout, which draws random numbers, and an optimizer with a schedule."""

    class Module(library.LightningModule):
        def __init__(self, rate: float = 0.05, shape: tuple[int, ...] = (2, 1)) -> None:
            super().__init__()
            self.save_hyperparameters()
            self.layers = torch.nn.Sequential(
                torch.nn.Linear(2, width), torch.nn.Dropout(0.25), torch.nn.Linear(width, 1)
            )

        def training_step(self, batch: Any, _: int) -> Any:
            loss = self.layers(batch).pow(2).mean()
            self.log("train_loss", loss, on_step=True, on_epoch=True)
            return loss

        def validation_step(self, batch: Any, _: int) -> None:
            self.log("val_loss", self.layers(batch).abs().mean())

        def test_step(self, batch: Any) -> None:
            self.log("test_loss", self.layers(batch).abs().mean())

        def configure_optimizers(self) -> Any:
            optimizer = torch.optim.Adam(self.parameters(), lr=self.hparams.rate)
            return [optimizer], [torch.optim.lr_scheduler.StepLR(optimizer, 2, 0.5)]

    torch.manual_seed(3)
    return Module()


class Trial(SmallTrial):
    """A trial of that network."""

    def __init__(self, place: Path) -> None:
        super().__init__(place)
        self.library: Any = pl
        self.model: Any = None
        self.trainer: Any = None

    def made_callback(self) -> Any:
        return DetCallback(self.context(), **self.options)

    def run(self, **arguments: Any) -> Any:
        """Train a new network; return it."""
        callback = self.made_callback()
        settings = {
            "max_epochs": EPOCHS,
            "log_every_n_steps": 3,
            "default_root_dir": self.place / "root",
            "accelerator": "cpu",
            "logger": False,
            "enable_progress_bar": False,
            "enable_model_summary": False,
        }
        self.trainer = self.library.Trainer(
            callbacks=[callback, *self.callbacks], **{**settings, **arguments}
        )
        self.model = module_of(self.library)
        records = torch.rand(RECORDS, 2, generator=torch.Generator().manual_seed(5))
        shuffled = torch.utils.data.DataLoader(records, batch_size=BATCH, shuffle=True)
        held_out = torch.utils.data.DataLoader(records[:4], batch_size=BATCH)
        torch.manual_seed(4)
        self.trainer.fit(self.model, shuffled, held_out, ckpt_path=callback.ckpt_path)
        return self.model


def weights(model: Any) -> list[bytes]:
    """Every weight, bit by bit."""
    return [value.numpy().tobytes() for value in model.state_dict().values()]
