"""The base of trial classes."""

from __future__ import annotations

from typing import Any

from determined._trial_context import TrialContext


class LegacyTrial:
    """A class whose methods a training loop calls; each framework has its own subclass."""

    trial_controller_class: Any = None
    trial_context_class: Any = TrialContext

    def __init__(self, context: Any) -> None:
        raise NotImplementedError(
            f"{type(self).__name__} must have a method __init__(self, context) that builds what "
            "it trains"
        )
