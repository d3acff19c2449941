"""Trains the trial of `model_def.py` from a script, on a cluster or off it."""

from __future__ import annotations

import logging
import os

from model_def import DigitsTrial

import determined as det
from determined import pytorch

EPOCHS = int(os.environ.get("EPOCHS", "6"))
DEFAULTS = {"learning_rate": 0.1, "channels": 16, "global_batch_size": 64}


def main() -> None:
    """Train as the experiment asks, or with the defaults where there is none."""
    logging.basicConfig(level=logging.INFO, format=det.LOG_FORMAT)
    hparams = None if det.get_cluster_info() else DEFAULTS
    with pytorch.init(hparams=hparams) as context:
        trainer = pytorch.Trainer(DigitsTrial(context), context)
        trainer.fit(
            max_length=pytorch.Epoch(EPOCHS),
            validation_period=pytorch.Epoch(1),
            reporting_period=pytorch.Batch(10),
        )


if __name__ == "__main__":
    main()
