"""Whether a validation deserves a checkpoint."""

from __future__ import annotations

from typing import Any, Dict, Iterable, Mapping, NamedTuple, Optional


class SearchGoal(NamedTuple):
    """What the search looks at."""

    metric: Optional[str]
    """Name of a validation metric; None where there is no search."""
    smaller_is_better: bool

    def is_better(self, value: float, than: float) -> bool:
        """Whether a value is as good as another, or better; NaN never is."""
        return value <= than if self.smaller_is_better else value >= than


def goal_of(config: Optional[Mapping[str, Any]]) -> SearchGoal:
    """The searcher's metric in a configuration."""
    searcher = (config or {}).get("searcher") or {}
    return SearchGoal(searcher.get("metric"), bool(searcher.get("smaller_is_better", True)))


def searched_value(goal: SearchGoal, metrics: Dict[str, Any]) -> Optional[float]:
    """The searcher's metric of a validation; None where there is no search.

    Raises:
        ValueError: the trial does not report it, or not as a number.
    """
    if goal.metric is None:
        return None
    if goal.metric not in metrics:
        raise ValueError(
            f"the search goes by the metric {goal.metric!r}, and the validation gave "
            f"{', '.join(sorted(metrics)) or 'none'}: return it, or set searcher.metric to one "
            "of these"
        )
    value = metrics[goal.metric]
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise ValueError(f"the search goes by {goal.metric!r}, which must be a number: {value!r}")
    return float(value)


def best_of(goal: SearchGoal, value: Optional[float], best: Optional[float]) -> Optional[float]:
    """The better of a value and the best so far; NaN never is."""
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
        goal: what the search looks at.
        value: the searcher's metric; None where there is no search: each counts as the best.
        bests: best values so far, of the trial and of the experiment; None before any. One that
            is as good counts as better: a run that repeats its best validation after a crash
            must not leave it without a checkpoint.
    """
    if policy != "best" or value is None:
        return policy != "none"
    return value == value and all(best is None or goal.is_better(value, best) for best in bests)
