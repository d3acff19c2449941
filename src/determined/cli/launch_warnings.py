"""What the master warns of when something is launched."""

from __future__ import annotations

from typing import Any, Mapping

from determined.cli import declare

_TEXTS = {
    "LAUNCH_WARNING_CURRENT_SLOTS_EXCEEDED": "more slots are asked for than the cluster has now; "
    "the {} waits until agents with enough of them have joined",
}


def tell(answer: Mapping[str, Any], launched: str) -> None:
    """Print the warnings of a launch's answer.

    Args:
        answer: with `warnings`, names of them.
        launched: what was launched, such as `experiment`.
    """
    for warning in answer.get("warnings") or ():
        declare.warn(f"Warning: {_TEXTS.get(warning, warning).format(launched)}")
