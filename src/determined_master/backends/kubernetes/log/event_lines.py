"""Kubernetes' events about a pod as lines of its task's log. PURE.

Source: helm-and-kubernetes 13.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from datetime import datetime
from typing import Any

from determined_master.backends.kubernetes.pods.status import instant

Json = Mapping[str, Any]

OBSTACLES = frozenset(
    {"FailedMount", "FailedMapVolume", "FailedAttachVolume", "FailedCreatePodSandBox"}
)
"""Reasons of warnings about a pod that its node tries to start again and again."""


def line_of(event: Json) -> str | None:
    """The log line for an event; None for an event without information."""
    text = str(event.get("message") or "").strip()
    about = event.get("involvedObject") or {}
    if not text:
        return None
    return f"{about.get('kind')} {about.get('name')}: {_gist(text)}"


def level_of(event: Json) -> str:
    """A warning of Kubernetes is logged as a warning."""
    return "WARNING" if event.get("type") == "Warning" else "INFO"


def obstacle_of(event: Json) -> str | None:
    """Why a node cannot start a pod yet, as Kubernetes says it; None for other events."""
    if event.get("type") != "Warning" or event.get("reason") not in OBSTACLES:
        return None
    return f"{event['reason']}: {str(event.get('message') or '').strip()[:500]}"


def happened_at(event: Json) -> datetime | None:
    """When it was last seen."""
    series = event.get("series") or {}
    for text in (
        series.get("lastObservedTime"),
        event.get("lastTimestamp"),
        event.get("eventTime"),
        (event.get("metadata") or {}).get("creationTimestamp"),
    ):
        at = instant(text)
        if at is not None:
            return at
    return None


def identity(event: Json) -> str:
    """The same for all reports of one text: Kubernetes counts repeated events.

    An event keeps its uid and gets another text where Kubernetes combines similar ones.
    """
    uid = str((event.get("metadata") or {}).get("uid"))
    words = hashlib.sha256(str(event.get("message") or "").encode()).hexdigest()[:12]
    return f"{uid}:{words}"


def _gist(text: str) -> str:
    if "pod triggered scale-up" in text:
        return "the task needs more machines than there are: the Kubernetes cluster is scaling up"
    if text.startswith("Successfully assigned"):
        return "its resources are allocated"
    if "skip schedule deleting pod" in text:
        return "the pod was deleted before it was placed"
    if "longer than the specified deadline" in text:
        return "it is being ended"  # the backend ends pods by a deadline that has passed
    if "nodes are available" in text:
        return f"waits for resources on its node: {text}"
    return text
