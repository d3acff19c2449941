"""Switches of a trial's context that seldom are needed."""

from __future__ import annotations

import logging
from typing import Any

from determined.pytorch._torch import torch

logger = logging.getLogger("determined.pytorch")


class PyTorchExperimentalContext:
    """Reached as `context.experimental`."""

    def __init__(self, parent: Any) -> None:
        self._parent = parent
        self._auto_amp = False
        self._reproducible = True
        self._auto_to_device = True

    def use_amp(self) -> None:
        """Train and evaluate in mixed precision, with a scaler for the loss.

        It needs a GPU; without one a warning tells that nothing changes.
        """
        if self._parent.device.type != "cuda":
            logger.warning("use_amp changes nothing: this trial trains on %s", self._parent.device)
            return
        self._parent.wrap_scaler(torch.amp.GradScaler("cuda"))
        self._auto_amp = True

    def disable_dataset_reproducibility_checks(self) -> None:
        """Allow data loaders of torch's own class.

        The trial then shares its data among ranks by itself, and a run that resumes begins the
        epoch's data anew.
        """
        self._reproducible = False

    def disable_auto_to_device(self) -> None:
        """Give batches to the trial as the data loader made them."""
        self._auto_to_device = False
