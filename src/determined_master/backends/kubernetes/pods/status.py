"""Readers of parts of a pod's status. PURE."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from determined_master.backends.kubernetes import names

Json = Mapping[str, Any]


def instant(text: Any) -> datetime | None:
    """An instant in Kubernetes' form."""
    try:
        return datetime.fromisoformat(str(text).replace("Z", "+00:00")) if text else None
    except ValueError:
        return None


def main_state(status: Json) -> Json:
    state: Json = next(
        (c.get("state") or {} for c in containers(status) if c.get("name") == names.MAIN), {}
    )
    return {key: value or {} for key, value in state.items()}


def containers(status: Json) -> list[Json]:
    return list(status.get("containerStatuses") or ())


def condition_text(status: Json, name: str) -> str:
    for condition in status.get("conditions") or ():
        if condition.get("type") == name and condition.get("status") != "True":
            return str(condition.get("message") or condition.get("reason") or "")
    return ""


def placed_at(status: Json) -> datetime | None:
    for condition in status.get("conditions") or ():
        if condition.get("type") == "PodScheduled" and condition.get("status") == "True":
            return instant(condition.get("lastTransitionTime"))
    return None


def is_unschedulable(status: Json) -> bool:
    return any(
        c.get("type") == "PodScheduled" and c.get("reason") == "Unschedulable"
        for c in status.get("conditions") or ()
    )


def reason_text(status: Json) -> str:
    parts = [str(status.get("reason") or ""), str(status.get("message") or "").strip()]
    return ": ".join(part for part in parts if part) or "for no reason given"


def is_past_deadline(status: Json) -> bool:
    """Whether it was killed: the backend gives such a pod a deadline."""
    return status.get("phase") == "Failed" and status.get("reason") == "DeadlineExceeded"


def deleted_text(pod: Json) -> str:
    meta = pod["metadata"]
    return (
        f"its pod {meta['namespace']}/{meta['name']} was deleted from outside: by an eviction, a "
        "preemption, or by hand"
    )
