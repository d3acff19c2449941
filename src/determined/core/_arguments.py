"""Checks of what user code gives to a report."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def check_progress(progress: Any) -> None:
    if isinstance(progress, (str, bytes)) or not 0 <= progress <= 1:
        raise ValueError(f"progress must be a number from 0 to 1, got {progress!r}")


def check_arguments(steps_completed: Any, metrics: Any) -> int:
    """Check the arguments of a report; return the steps as an integer.

    A NumPy integer, a tensor of one element, a whole float and text of a number are taken, too.

    Raises:
        TypeError: one of them is of another kind; the text names it.
    """
    steps = check_steps(steps_completed)
    check_mapping("metrics", metrics)
    return steps


def check_steps(steps_completed: Any) -> int:
    try:
        steps = int(steps_completed)
        is_whole = isinstance(steps_completed, (str, bytes)) or steps == steps_completed
    except (TypeError, ValueError, OverflowError):
        is_whole = False
    if not is_whole:
        raise TypeError(f"steps_completed must be a whole number, got {steps_completed!r}")
    return steps


def check_mapping(name: str, value: Any) -> None:
    if not isinstance(value, Mapping):
        raise TypeError(
            f"{name} must be a dict of values by name, such as {{'loss': 0.5}}, "
            f"got {type(value).__name__}: {value!r:.100}"
        )


def check_status(status: Any) -> None:
    if not isinstance(status, str):
        raise TypeError(f"status must be text, got {status!r}")
