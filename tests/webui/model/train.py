"""A training script without training: its curves, faults and log lines follow from its
hyperparameters, so that pages of the web UI show every state within seconds."""

from __future__ import annotations

import json
import logging
import math
import pathlib
import random
import sys
import time

import determined as det
from determined import core


def curve(step: int, lr: float, noise: random.Random) -> float:
    """A loss that falls faster near a learning rate of 0.01, with noise."""
    quality = math.exp(-((math.log10(lr) + 2) ** 2))
    return 2.0 * math.exp(-step * (0.002 + 0.02 * quality)) + 0.1 + noise.random() * 0.05


def main(context: core.Context) -> None:
    """Report `steps` training batches and a validation every tenth."""
    info = det.get_cluster_info()
    assert info is not None
    assert info.trial is not None
    hparams = info.trial.hparams
    noise = random.Random(info.trial.trial_id)
    steps, lr = int(hparams.get("steps", 50)), float(hparams.get("lr", 0.01))
    pause_s = float(hparams.get("pause_s", 0.0))
    logging.info("training with lr=%s for %d batches", lr, steps)
    for step in range(1, steps + 1):
        loss = curve(step, lr, noise)
        if hparams.get("nan_at") == step:
            loss = math.nan
            logging.warning("the loss is not a number at batch %d", step)
        context.train.report_training_metrics(
            steps_completed=step, metrics={"loss": loss, "lr": lr, "epochs": step / 10}
        )
        if step % 10 == 0:
            logging.info("batch %d of %d: loss %.4f", step, steps, loss)
            context.train.report_validation_metrics(
                steps_completed=step,
                metrics={
                    "validation_loss": loss * 1.1,
                    "accuracy": 1 / (1 + loss),
                    "epochs": step / 10,
                },
            )
            save(context, step)
            if context.preempt.should_preempt():
                return
        if hparams.get("fail_at") == step:
            logging.error("the data loader found a corrupt record")
            raise RuntimeError(f"corrupt record in shard {step}")
        if pause_s:
            time.sleep(pause_s)


def save(context: core.Context, step: int) -> None:
    """A checkpoint of a few bytes."""
    with context.checkpoint.store_path({"steps_completed": step}) as (path, _):
        (pathlib.Path(path) / "state.json").write_text(json.dumps({"step": step}))


if __name__ == "__main__":
    logging.basicConfig(level=logging.INFO, format=det.LOG_FORMAT, stream=sys.stdout)
    with core.init() as core_context:
        main(core_context)
