"""Why the API server refuses a pod, and the remedy.

It refuses for missing rights, by a quota and by a LimitRange with one status and reason, so only
its text tells them apart.
"""

from __future__ import annotations

import re
from collections.abc import Set

_UNSPECIFIED = re.compile(r"failed quota: (\S+?): must specify ([^ ]+)")
_RANGE = re.compile(
    r"(?:maximum|minimum) \S+ usage per \w+ is|max limit to request ratio per \w+ is"
    r"|must be less than or equal to \S+ limit"
)


def is_over_quota(status: int, text: str) -> bool:
    """Whether a pod is refused because a quota is full: it may be created later."""
    return status == 403 and "exceeded quota" in text


def refusal(status: int, causes: Set[str], text: str, namespace: str) -> str:
    """Why Kubernetes refuses a pod for good, and the remedy.

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
    missing = _UNSPECIFIED.search(text)
    if status == 403 and missing is not None:
        return (
            f"quota {missing[1]} of namespace {namespace} admits only pods with {missing[2]}: set "
            f"it for each container in resources of environment.pod_spec ({text})"
        )
    if status == 403 and _RANGE.search(text):
        return (
            f"a LimitRange of namespace {namespace} does not admit the task's pod: change the "
            f"resources in environment.pod_spec, or let an admin change the LimitRange ({text})"
        )
    if status == 403:
        return (
            f"the master may not create pods and secrets in namespace {namespace}: give its "
            f"account the rights of docs/kubernetes.md ({text})"
        )
    return f"Kubernetes rejects the task's pod: {text}; check environment.pod_spec"
