"""The rule of checkpoint GC: a checkpoint that no `save_*` setting keeps is garbage.

Source: task-contract 6.3, experiment-config 14. Changed so that no work is lost: checkpoints that
are deleted, completely or in part, do not count among the best or the latest.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

import msgspec

MAX_RUNS = 5
"""Runs after which a checkpoint GC task is given up."""


class Saved(msgspec.Struct, frozen=True):
    """One complete checkpoint; `metric` has the sign that makes smaller better."""

    uuid: str
    trial_id: int
    steps: int
    metric: float | None = None
    """None without a validation at these steps."""
    is_source: bool = False
    """Whether another trial or experiment starts from it; then it is never garbage."""


class SavePolicy(msgspec.Struct, frozen=True, kw_only=True):
    """How many checkpoints are kept."""

    experiment_best: int = 0
    """The best over all trials."""
    trial_best: int = 1
    """The best of each trial."""
    trial_latest: int = 1
    """The checkpoints of each trial with the most steps."""


def find_garbage(saved: Sequence[Saved], policy: SavePolicy) -> list[str]:
    """Choose the checkpoints to delete.

    Kept is the union of the best `experiment_best` validated checkpoints of the experiment, the
    best `trial_best` validated ones of each trial, and the `trial_latest` with the most steps of
    each trial. NaN is worse than every other metric.

    Args:
        saved: shape (n,), oldest first. The older of two equal metrics is the better one; the
            newer of two equal numbers of steps is the later one.
        policy: the settings.

    Returns:
        UUIDs of garbage, in the order of `saved`.

    Cost: O(n log n).
    """
    validated = [c for c in saved if c.metric is not None]
    needed = _best(validated, policy.experiment_best)
    for of_trial in _by_trial(validated):
        needed += _best(of_trial, policy.trial_best)
    for of_trial in _by_trial(saved):
        needed += _latest(of_trial, policy.trial_latest)
    uuids = {c.uuid for c in needed}
    return [c.uuid for c in saved if c.uuid not in uuids and not c.is_source]


def is_run_again(outcome: str, run: int) -> bool:
    """Whether a checkpoint GC task restarts after its `run`-th run.

    A lost machine was nobody's fault, and a partial deletion must be completed: nothing else
    repeats it. A task that failed by itself may need a user to fix something first.
    """
    return outcome == "lost" and run < MAX_RUNS


def _best(validated: Sequence[Saved], count: int) -> list[Saved]:
    return sorted(validated, key=_worse)[:count]


def _latest(saved: Sequence[Saved], count: int) -> list[Saved]:
    return sorted(reversed(saved), key=lambda c: -c.steps)[:count]


def _worse(checkpoint: Saved) -> tuple[bool, float]:
    metric = checkpoint.metric
    if metric is None or math.isnan(metric):
        return True, 0.0
    return False, metric


def _by_trial(saved: Iterable[Saved]) -> Iterable[list[Saved]]:
    groups: dict[int, list[Saved]] = {}
    for checkpoint in saved:
        groups.setdefault(checkpoint.trial_id, []).append(checkpoint)
    return groups.values()
