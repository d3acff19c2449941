"""The checkpoint policy: whether to save a checkpoint after a validation."""

from __future__ import annotations

from typing import Any, Dict, Iterable, Mapping, NamedTuple, Optional


class SearchGoal(NamedTuple):
    """The metric that the search optimizes."""

    metric: Optional[str]
    """The name of a validation metric; None if there is no search."""
    smaller_is_better: bool

    def is_better(self, value: float, than: float) -> bool:
        """Whether a value is at least as good as another; False for NaN."""
        return value <= than if self.smaller_is_better else value >= than


def goal_of(config: Optional[Mapping[str, Any]]) -> SearchGoal:
    """The searcher's metric in a configuration."""
    searcher = (config or {}).get("searcher") or {}
    return SearchGoal(searcher.get("metric"), bool(searcher.get("smaller_is_better", True)))


def searched_value(goal: SearchGoal, metrics: Dict[str, Any]) -> Optional[float]:
    """The value of the searcher's metric in a validation; None if there is no search.

    Raises:
        ValueError: the metric is missing or not a number.
    """
    if goal.metric is None:
        return None
    if goal.metric not in metrics:
        raise ValueError(
            f"the search uses the metric {goal.metric!r}, but the validation returned "
            f"{', '.join(sorted(metrics)) or 'none'}: return it, or set searcher.metric to one "
            "of these"
        )
    value = metrics[goal.metric]
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise ValueError(f"the searcher's metric {goal.metric!r} must be a number, got {value!r}")
    return float(value)


def best_of(goal: SearchGoal, value: Optional[float], best: Optional[float]) -> Optional[float]:
    """The better of a value and the best so far; NaN is ignored."""
    if value is None or value != value:
        return best
    if best is None or goal.is_better(value, best):
        return value
    return best


def wants_checkpoint(
    policy: str, goal: SearchGoal, value: Optional[float], bests: Iterable[Optional[float]]
) -> bool:
    """Whether to save after a validation.

    Args:
        policy: "all", "best" or "none".
        goal: the searcher's metric.
        value: its value; None if there is no search, in which case every validation counts as
            the best.
        bests: best values so far, of the trial and of the experiment; None before the first. An
            equal value counts as better, so that a run that repeats its best validation after a
            crash saves a checkpoint again.
    """
    if policy != "best" or value is None:
        return policy != "none"
    return value == value and all(best is None or goal.is_better(value, best) for best in bests)
