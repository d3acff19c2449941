"""Experimental options of a trial's context."""

from __future__ import annotations

import logging
from typing import Any

from determined.pytorch._torch import torch

logger = logging.getLogger("determined.pytorch")


class PyTorchExperimentalContext:
    """Available as `context.experimental`."""

    def __init__(self, parent: Any) -> None:
        self._parent = parent
        self._auto_amp = False
        self._reproducible = True
        self._auto_to_device = True

    def use_amp(self) -> None:
        """Train and evaluate in mixed precision with loss scaling.

        Requires a GPU; without one it logs a warning and has no effect.
        """
        if self._parent.device.type != "cuda":
            logger.warning("use_amp has no effect: this trial trains on %s", self._parent.device)
            return
        self._parent.wrap_scaler(torch.amp.GradScaler("cuda"))
        self._auto_amp = True

    def disable_dataset_reproducibility_checks(self) -> None:
        """Allow torch data loaders.

        The trial must then divide the data among the ranks itself, and a resumed run starts with
        the first batch of the data loader.
        """
        self._reproducible = False

    def disable_auto_to_device(self) -> None:
        """Pass batches to the trial without moving them to the device."""
        self._auto_to_device = False
