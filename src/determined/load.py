"""The loader of trial classes."""

from __future__ import annotations

from typing import Any

from determined._internals import Internal

get_trial_controller_class = Internal(
    "determined.load.get_trial_controller_class", "pytorch.Trainer runs a trial class by itself"
)


def trial_class_from_entrypoint(entrypoint_spec: str) -> Any:
    """The class that `module:Class` names.

    Raises:
        EntryFailed: the module or the class does not exist.
    """
    from determined.exec import harness

    return harness.load_class(entrypoint_spec)
