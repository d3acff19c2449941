"""How a container stands, and why it has ended, from its pod. PURE.

Source: helm-and-kubernetes 12. Where the machine or the cluster is at fault, the run is lost and
not counted; where the task is, it has failed.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta

from determined_master.backends.kubernetes.manifest.prepare import MARK
from determined_master.backends.kubernetes.pods.status import (
    Json,
    containers,
    deleted_text,
    instant,
    is_past_deadline,
    main_state,
    placed_at,
    reason_text,
)
from determined_wire.agent_link import ContainerState, Failure

BACK_OFF = "ImagePullBackOff"
"""Waiting reason of a container whose image its node tries again later."""
NEVER_PULLED = frozenset({BACK_OFF, "InvalidImageName", "ErrImageNeverPull"})
"""Waiting reasons of a container that waits for its image forever."""
STUCK_REASONS = frozenset(
    {"CreateContainerConfigError", "CreateContainerError", "RunContainerError"}
)
"""Waiting reasons of a container that probably waits forever: two minutes are allowed."""
STUCK = timedelta(minutes=2)
CLOCKS = timedelta(seconds=10)
"""Maximum difference between the clocks of a node and of the API server."""
NODE_REASONS = frozenset(
    {
        "NodeLost",
        "NodeShutdown",
        "Shutdown",
        "Terminated",
        "Preempting",
        "UnexpectedAdmissionError",
        "NodeAffinity",
        "NodePorts",
        "AdmissionError",
        "Unknown",
    }
)
"""Failure reasons of a pod whose node could not, or did not want to, run it any more."""


Ended = tuple[ContainerState, Failure | None, int | None]


def state_of(pod: Json, main: Json, now: datetime) -> Ended:
    status = pod.get("status") or {}
    phase = status.get("phase") or "Pending"
    if "terminated" in main:
        return _after(pod, main["terminated"])
    if phase == "Failed":
        return _failed(pod, status)
    if phase == "Succeeded":
        return "TERMINATED", None, 0
    broken = _broken(pod, status, now)
    if broken is not None:
        return "TERMINATED", broken, None
    if "running" in main and status.get("podIP"):
        return "RUNNING", None, None
    if not (pod.get("spec") or {}).get("nodeName"):
        if (pod.get("metadata") or {}).get("deletionTimestamp"):
            # It will never run; a finalizer of the queue may keep the object for a while.
            return "TERMINATED", Failure("agent_failed", deleted_text(pod)), None
        return "ASSIGNED", None, None
    statuses = [*(status.get("initContainerStatuses") or ())]
    has_begun = any("waiting" not in (s.get("state") or {"waiting": {}}) for s in statuses)
    is_up = has_begun or "running" in main
    return ("STARTING" if is_up else "PULLING"), None, None


def pull_error(status: Json) -> str:
    """Why a node has not pulled an image at its last try; empty while it waits for the next."""
    for waiting in (waiting for _, waiting in _waits(status)):
        if waiting.get("reason") == "ErrImagePull":
            return str(waiting.get("message") or "")
    return ""


def given_up_image(status: Json, failure: Failure | None) -> str:
    """The image that its node tries again later, if a pod has ended for that; else empty."""
    for image, waiting in _waits(status):
        reason = waiting.get("reason")
        if reason == BACK_OFF and failure == not_pulled(image, waiting.get("message") or reason):
            return image
    return ""


def not_pulled(image: str, cause: str) -> Failure:
    """The end of a container without its image."""
    text = (
        f"the image {image} cannot be pulled: {cause}; look at environment.image, and at "
        "environment.registry_auth where it needs credentials (or imagePullSecrets in "
        "environment.pod_spec)"
    )
    return Failure("task_error", text)


def _waits(status: Json) -> Iterator[tuple[str, Json]]:
    """The image of each container, and why the container waits."""
    for container in (*(status.get("initContainerStatuses") or ()), *containers(status)):
        waiting = (container.get("state") or {}).get("waiting") or {}
        yield str(container.get("image")), waiting


def _after(pod: Json, end: Json) -> Ended:
    status = pod.get("status") or {}
    code = int(end.get("exitCode") or 0)
    reason = str(end.get("reason") or "")
    if reason in ("ContainerCannotRun", "StartError"):
        text = f"the container could not be started: {end.get('message') or reason}"
        return "TERMINATED", Failure("task_error", text, code), code
    if status.get("reason") in NODE_REASONS:
        return "TERMINATED", Failure("agent_failed", reason_text(status), code), code
    if code == 0 and is_past_deadline(status):
        text = "it was signalled to end, and did"
        return "TERMINATED", Failure("container_ended", text, code), code
    if code == 0:
        return "TERMINATED", None, 0
    if _was_ended(pod, end):
        return "TERMINATED", Failure("agent_failed", deleted_text(pod), code), code
    note = str(end.get("message") or "")
    if note.startswith(MARK):
        text = f"its files could not be prepared: {note.removeprefix(MARK).strip()}"
        return "TERMINATED", Failure("task_error", text, code), code
    text = f"container failed with non-zero exit code: {code}"
    if reason == "OOMKilled":
        text += (
            " (out of memory: raise the memory limit of determined-container in "
            "environment.pod_spec, or use less)"
        )
    elif status.get("reason") == "Evicted":
        text += f" ({reason_text(status)})"
    return "TERMINATED", Failure("container_failed", text, code), code


def _was_ended(pod: Json, end: Json) -> bool:
    """Whether a container ended because its pod was deleted, for example by draining its node."""
    meta = pod.get("metadata") or {}
    goes_at, ended_at = instant(meta.get("deletionTimestamp")), instant(end.get("finishedAt"))
    if goes_at is None:
        return False
    asked_at = goes_at - timedelta(seconds=int(meta.get("deletionGracePeriodSeconds") or 0))
    return ended_at is None or ended_at >= asked_at - CLOCKS


def _failed(pod: Json, status: Json) -> Ended:
    """A failed pod whose task's container did not exit by itself."""
    for init in status.get("initContainerStatuses") or ():
        end = (init.get("state") or {}).get("terminated") or {}
        code = int(end.get("exitCode") or 0)
        if code and _was_ended(pod, end):
            return "TERMINATED", Failure("agent_failed", deleted_text(pod), code), code
        if code:
            message = str(end.get("message") or end.get("reason") or "").strip()
            text = f"the pod's init container {init.get('name')} failed with exit code {code}"
            return "TERMINATED", Failure("task_error", f"{text}: {message}", code), code
    if is_past_deadline(status):
        if "running" not in main_state(status):
            return "TERMINATED", Failure("container_aborted", "it was signalled to end"), None
        text = "it was signalled to end, and reported no exit code"
        return "TERMINATED", Failure("container_ended", text), None
    reason = str(status.get("reason") or "")
    if reason in NODE_REASONS or reason.startswith("OutOf"):
        return "TERMINATED", Failure("agent_error", reason_text(status)), None
    if reason == "Evicted":
        return "TERMINATED", Failure("task_error", reason_text(status)), None
    if not reason and (pod.get("metadata") or {}).get("deletionTimestamp"):
        # kubelet 1.20 removes the containers of a deleted pod before it reports how they ended
        return "TERMINATED", Failure("agent_failed", deleted_text(pod)), None
    name = (pod.get("metadata") or {}).get("name")
    text = f"its pod {name} has failed: {reason_text(status)}"
    return "TERMINATED", Failure("task_error", text), None


def _broken(pod: Json, status: Json, now: datetime) -> Failure | None:
    """Why its containers will never start, if so."""
    since = placed_at(status) or instant((pod.get("metadata") or {}).get("creationTimestamp"))
    is_old = since is not None and now - since > STUCK
    statuses = [*(status.get("initContainerStatuses") or ()), *(containers(status))]
    for container in statuses:
        waiting = (container.get("state") or {}).get("waiting") or {}
        reason = waiting.get("reason") or ""
        message = waiting.get("message") or reason
        if reason in NEVER_PULLED:
            return not_pulled(str(container.get("image")), message)
        if reason in STUCK_REASONS and is_old:
            text = f"the container {container.get('name')} cannot be started: {reason}: {message}"
            return Failure("task_error", text)
    return None
