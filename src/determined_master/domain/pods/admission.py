"""The state of a gang in the cluster's own queue, for users who wait.

Source: kueue's `kueue.x-k8s.io/v1beta1` (conditions of a Workload), and the conditions of pods.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

MAX_TEXT = 300
"""Characters of another program's text that are shown."""


def kueue_wait(queue: str, conditions: Iterable[Mapping[str, Any]] | None) -> str:
    """The state of a gang that kueue has not admitted.

    Args:
        queue: the name of its LocalQueue.
        conditions: of its Workload; None when there is none, or when it is not known.
    """
    text = f"waits in kueue's LocalQueue {queue!r}"
    if conditions is None:
        return f"{text}, and kueue has made no Workload for it that the master can see"
    known = {str(c.get("type")): c for c in conditions}
    if _is(known.get("Admitted"), "True"):
        return "kueue has admitted it, and its pods start"
    if _is(known.get("QuotaReserved"), "True"):
        return f"{text}: quota is reserved, and admission checks are not finished"
    if _is(known.get("Evicted"), "True"):
        return f"{text}: kueue has evicted it{_said(known['Evicted'])}"
    pending = known.get("QuotaReserved")
    return f"{text}{_said(pending)}" if pending is not None else text


def scheduler_wait(scheduler: str, said: str) -> str:
    """The state of a gang whose pods have no node yet.

    Args:
        scheduler: the name of the Kubernetes scheduler.
        said: the message of the pod's condition `PodScheduled`; empty without one.
    """
    text = f"waits for Kubernetes' scheduler {scheduler!r}"
    return f"{text}: {short(said)}" if said else f"{text}, which has not answered yet"


def short(text: str) -> str:
    """A text of another program on one line, cut where it is long."""
    line = " ".join(text.split())
    return f"{line[:MAX_TEXT]}..." if len(line) > MAX_TEXT else line


def _is(condition: Mapping[str, Any] | None, status: str) -> bool:
    return condition is not None and condition.get("status") == status


def _said(condition: Mapping[str, Any]) -> str:
    text = short(str(condition.get("message") or condition.get("reason") or ""))
    return f": {text}" if text else ""
