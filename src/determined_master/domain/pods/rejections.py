"""Why the API server refuses a pod, and the remedy.

It refuses for missing rights, by a quota and by a LimitRange with one status and reason, so only
its text tells them apart.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Set
from typing import Any

_UNSPECIFIED = re.compile(r"failed quota: (\S+?): must specify ([^ ]+)")
_RANGE = re.compile(
    r"(?:maximum|minimum) \S+ usage per \w+ is|max limit to request ratio per \w+ is"
    r"|must be less than or equal to \S+ limit"
)


_NEVER_STORED = ("trying to send message larger than max", "etcdserver: request is too large")
"""Of etcd, which the API server reports as a failure of its own (HTTP 500)."""
_TOO_LARGE = (*_NEVER_STORED, "Request entity too large", "request entity too large")
_POLICY = re.compile(
    r'admission webhook "[^"]*"|ValidatingAdmissionPolicy \S+|PodSecurity "[^"]*"'
    r"|PodSecurityPolicy|any security context constraint"
)
_REPAIRS = (
    ("failed calling webhook", "; let an admin repair that webhook of the cluster"),
    ("database space exceeded", "; let an admin compact and defragment etcd, and clear its alarm"),
)
"""Failures of a cluster that do not pass by themselves: a part of the text, and the remedy."""
_MARKS = frozenset(
    {
        "determined",
        *(f"determined.ai/{part}" for part in ("cluster_id", "allocation_id", "container_id")),
        *(f"determined.ai/{part}" for part in ("task_id", "slot_ids", "node")),
    }
)
"""Others, such as the name of the workspace, may change between two orders of one pod."""


def is_over_quota(status: int, text: str) -> bool:
    """Whether a pod is refused because a quota is full: it may be created later."""
    return status == 403 and "exceeded quota" in text


def is_never_stored(text: str) -> bool:
    """Whether the cluster will not store an object, however often that is asked."""
    return any(part in text for part in _NEVER_STORED)


def refusal(status: int, causes: Set[str], text: str, namespace: str) -> str:
    """Why Kubernetes refuses a pod permanently, and the remedy.

    Args:
        status: of HTTP.
        causes: Kubernetes' words for them.
        text: its message.
        namespace: of the pod.
    """
    if status == 404:
        return (
            f"the namespace {namespace} does not exist: create it, bind the workspace to "
            f"another, or set resource_manager.default_namespace ({text})"
        )
    if "NamespaceTerminating" in causes:
        return (
            f"the namespace {namespace} is being deleted: bind the workspace to another, or "
            f"create it again afterwards ({text})"
        )
    if status == 413 or any(part in text for part in _TOO_LARGE):
        return f"the task's pod is too large for Kubernetes: shorten environment.pod_spec ({text})"
    limit = _limit_of_namespace(text, namespace) if status == 403 else ""
    if limit:
        return limit
    if "cannot create resource" in text:
        return _missing_right(text, namespace)
    policy = _POLICY.search(text)
    if policy is not None:
        return (
            f"a policy of the cluster does not admit the task's pod in namespace {namespace}: "
            "change environment.pod_spec as it says, or let an admin exempt the namespace from "
            f"{policy[0]} ({text})"
        )
    return f"Kubernetes rejects the task's pod: {text}; check environment.pod_spec"


def _missing_right(text: str, namespace: str) -> str:
    if "resourceclaims" in text:
        return (
            f"the master may not create resourceclaims in namespace {namespace}: give its account "
            f"the rights for devices of docs/kubernetes-permissions.md ({text})"
        )
    return (
        f"the master may not create pods and secrets in namespace {namespace}: give its "
        f"account the rights of docs/kubernetes-permissions.md ({text})"
    )


def _limit_of_namespace(text: str, namespace: str) -> str:
    """Why a quota or a LimitRange refuses a pod, with the remedy; empty if none does."""
    missing = _UNSPECIFIED.search(text)
    if missing is not None:
        return (
            f"quota {missing[1]} of namespace {namespace} admits only pods with {missing[2]}: set "
            f"it for each container in resources of environment.pod_spec ({text})"
        )
    if _RANGE.search(text):
        return (
            f"a LimitRange of namespace {namespace} does not admit the task's pod: change the "
            f"resources in environment.pod_spec, or let an admin change the LimitRange ({text})"
        )
    return ""


def delay(text: str) -> str:
    """Why a pod is not created yet, and the remedy; its creation is repeated.

    Args:
        text: the server's, or why it does not answer.
    """
    found = next((remedy for word, remedy in _REPAIRS if word in text), "")
    return f"its pod cannot be created yet, and is tried again: {text}{found}"


def lost_marks(sent: Mapping[str, Any], made: Mapping[str, Any]) -> str:
    """The label or annotation that a pod has lost and by which it is found again.

    A mutating webhook may have taken them out, or changed them. Its other changes are left.

    Args:
        sent: the metadata of the pod as it was sent.
        made: as the server has stored it.

    Returns:
        The reason why the pod cannot be used, and the remedy; empty when all are there.
    """
    for part in ("labels", "annotations"):
        stored = made.get(part) or {}
        for key, value in (sent.get(part) or {}).items():
            if key in _MARKS and stored.get(key) != value:
                now = f"{stored[key]!r}" if key in stored else "missing"
                return (
                    f"a webhook of the cluster has changed the task's pod: its {part[:-1]} {key} "
                    f"is {now} in place of {value!r}; let an admin exempt pods with the label "
                    "determined from that webhook"
                )
    return ""
