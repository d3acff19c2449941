"""The state of a container, from its pod's status. PURE.

Source: helm-and-kubernetes 12. Where the machine or the cluster is at fault, the run is lost and
not counted; where the task is, it has failed.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any

import msgspec

from determined_master.backends.kubernetes import names
from determined_master.backends.kubernetes.manifest.prepare import MARK
from determined_master.domain.pods.queues import is_queue
from determined_wire.agent_link import Address, ContainerReport, ContainerState, Failure

Json = Mapping[str, Any]

NEVER_PULLED = frozenset({"ImagePullBackOff", "InvalidImageName", "ErrImageNeverPull"})
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


class Observed(msgspec.Struct, frozen=True, kw_only=True):
    """The fields of a pod that the backend uses."""

    name: str
    namespace: str
    uid: str
    node: str
    """The planned node."""
    task_id: str
    slot_ids: tuple[int, ...]
    report: ContainerReport
    is_scheduled: bool
    has_output: bool
    """Its task's container has started: it has a log."""
    is_stopped: bool
    """Its task's container has ended: its log is complete."""
    is_ending: bool
    """It was signalled to end.

    Older kubelets report that as its end: its program may still run.
    """
    is_evicted: bool
    """Its pod is deleted, by whomever, while its program runs."""
    created_at: datetime | None
    waits_for: str
    """Why it is not placed, in Kubernetes' text."""
    is_unschedulable: bool = False
    """Kubernetes' scheduler has found that it does not fit its node now."""
    is_handed_over: bool = False
    """The cluster chooses its node: `node` is the agent that stands for the queue."""
    is_gated: bool = False
    """Kubernetes' scheduler does not look at it before its gates are removed."""
    runs_on: str = ""
    """The name of its node; empty while it has none."""
    placed_at: datetime | None = None
    """When it got its node, as far as that is reported."""
    scheduler: str = ""


def observe(pod: Json, now: datetime) -> Observed | None:
    """The state in a pod's status; None if the pod is no container of ours.

    Args:
        pod: as the API server describes it.
        now: decides when a pod that cannot start is given up.
    """
    meta, status = pod.get("metadata") or {}, pod.get("status") or {}
    labels, notes = meta.get("labels") or {}, meta.get("annotations") or {}
    container_id = labels.get(names.CONTAINER_ID, "")
    allocation_id = labels.get(names.ALLOCATION_ID, "")
    if not container_id or not allocation_id:
        return None
    main, spec = _main(status), pod.get("spec") or {}
    runs_on = str(spec.get("nodeName") or "")
    is_scheduled, planned_for = bool(runs_on), str(notes.get(names.NODE) or "")
    state, failure, code = _state_of(pod, main, now)
    return Observed(
        name=str(meta.get("name")),
        namespace=str(meta.get("namespace")),
        uid=str(meta.get("uid")),
        node=planned_for or runs_on,
        task_id=labels.get(names.TASK_ID, ""),
        slot_ids=names.slot_ids_of(notes.get(names.SLOT_IDS, "")),
        report=ContainerReport(
            container_id=container_id,
            allocation_id=allocation_id,
            state=state,
            failure=failure,
            exit_code=code,
            addresses=_addresses(pod) if state == "RUNNING" else (),
        ),
        is_scheduled=is_scheduled,
        has_output="running" in main or "terminated" in main,
        is_stopped="terminated" in main or status.get("phase") in ("Failed", "Succeeded"),
        is_ending="running" in main and _is_past_deadline(status),
        is_evicted="running" in main and bool(meta.get("deletionTimestamp")),
        created_at=instant(meta.get("creationTimestamp")),
        waits_for="" if is_scheduled else _condition(status, "PodScheduled"),
        is_unschedulable=not is_scheduled and _is_unschedulable(status),
        is_handed_over=is_queue(planned_for),
        is_gated=bool(spec.get("schedulingGates")),
        runs_on=runs_on,
        placed_at=_placed_at(status) if is_scheduled else None,
        scheduler=str(spec.get("schedulerName") or "default-scheduler"),
    )


def gone(before: Observed) -> ContainerReport:
    """The end of a container whose pod vanished before it reported its exit."""
    meta = {"namespace": before.namespace, "name": before.name}
    failure = Failure(type="agent_failed", message=_deleted_text({"metadata": meta}))
    return msgspec.structs.replace(
        before.report, state="TERMINATED", failure=failure, exit_code=None, addresses=()
    )


def ended_by_deletion(seen: Observed) -> Observed:
    """A pod that was deleted while its program ran: a failure of the program comes from that.

    The times of its node and of the API server need not agree for this.
    """
    failure = seen.report.failure
    if failure is None or failure.type != "container_failed":
        return seen
    meta = {"namespace": seen.namespace, "name": seen.name}
    lost = Failure("agent_failed", _deleted_text({"metadata": meta}), seen.report.exit_code)
    report = msgspec.structs.replace(seen.report, failure=lost)
    return msgspec.structs.replace(seen, report=report)


def instant(text: Any) -> datetime | None:
    """An instant in Kubernetes' form."""
    try:
        return datetime.fromisoformat(str(text).replace("Z", "+00:00")) if text else None
    except ValueError:
        return None


_Ended = tuple[ContainerState, Failure | None, int | None]


def _state_of(pod: Json, main: Json, now: datetime) -> _Ended:
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
            return "TERMINATED", Failure("agent_failed", _deleted_text(pod)), None
        return "ASSIGNED", None, None
    statuses = [*(status.get("initContainerStatuses") or ())]
    has_begun = any("waiting" not in (s.get("state") or {"waiting": {}}) for s in statuses)
    is_up = has_begun or "running" in main
    return ("STARTING" if is_up else "PULLING"), None, None


def _after(pod: Json, end: Json) -> _Ended:
    status = pod.get("status") or {}
    code = int(end.get("exitCode") or 0)
    reason = str(end.get("reason") or "")
    if reason in ("ContainerCannotRun", "StartError"):
        text = f"the container could not be started: {end.get('message') or reason}"
        return "TERMINATED", Failure("task_error", text, code), code
    if status.get("reason") in NODE_REASONS:
        return "TERMINATED", Failure("agent_failed", _reason_text(status), code), code
    if code == 0 and _is_past_deadline(status):
        text = "it was signalled to end, and did"
        return "TERMINATED", Failure("container_ended", text, code), code
    if code == 0:
        return "TERMINATED", None, 0
    if _was_ended(pod, end):
        return "TERMINATED", Failure("agent_failed", _deleted_text(pod), code), code
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
        text += f" ({_reason_text(status)})"
    return "TERMINATED", Failure("container_failed", text, code), code


def _is_past_deadline(status: Json) -> bool:
    """Whether it was killed: the backend gives such a pod a deadline."""
    return status.get("phase") == "Failed" and status.get("reason") == "DeadlineExceeded"


def _was_ended(pod: Json, end: Json) -> bool:
    """Whether a container ended because its pod was deleted, for example by draining its node."""
    meta = pod.get("metadata") or {}
    goes_at, ended_at = instant(meta.get("deletionTimestamp")), instant(end.get("finishedAt"))
    if goes_at is None:
        return False
    asked_at = goes_at - timedelta(seconds=int(meta.get("deletionGracePeriodSeconds") or 0))
    return ended_at is None or ended_at >= asked_at - CLOCKS


def _deleted_text(pod: Json) -> str:
    meta = pod["metadata"]
    return (
        f"its pod {meta['namespace']}/{meta['name']} was deleted from outside: by an eviction, a "
        "preemption, or by hand"
    )


def _failed(pod: Json, status: Json) -> _Ended:
    """A failed pod whose task's container did not exit by itself."""
    for init in status.get("initContainerStatuses") or ():
        end = (init.get("state") or {}).get("terminated") or {}
        code = int(end.get("exitCode") or 0)
        if code and _was_ended(pod, end):
            return "TERMINATED", Failure("agent_failed", _deleted_text(pod), code), code
        if code:
            message = str(end.get("message") or end.get("reason") or "").strip()
            text = f"the pod's init container {init.get('name')} failed with exit code {code}"
            return "TERMINATED", Failure("task_error", f"{text}: {message}", code), code
    if _is_past_deadline(status):
        if "running" not in _main(status):
            return "TERMINATED", Failure("container_aborted", "it was signalled to end"), None
        text = "it was signalled to end, and reported no exit code"
        return "TERMINATED", Failure("container_ended", text), None
    reason = str(status.get("reason") or "")
    if reason in NODE_REASONS or reason.startswith("OutOf"):
        return "TERMINATED", Failure("agent_error", _reason_text(status)), None
    if reason == "Evicted":
        return "TERMINATED", Failure("task_error", _reason_text(status)), None
    if not reason and (pod.get("metadata") or {}).get("deletionTimestamp"):
        # kubelet 1.20 removes the containers of a deleted pod before it reports how they ended
        return "TERMINATED", Failure("agent_failed", _deleted_text(pod)), None
    name = (pod.get("metadata") or {}).get("name")
    text = f"its pod {name} has failed: {_reason_text(status)}"
    return "TERMINATED", Failure("task_error", text), None


def _broken(pod: Json, status: Json, now: datetime) -> Failure | None:
    """Why its containers will never start, if so."""
    since = _placed_at(status) or instant((pod.get("metadata") or {}).get("creationTimestamp"))
    is_old = since is not None and now - since > STUCK
    statuses = [*(status.get("initContainerStatuses") or ()), *(_containers(status))]
    for container in statuses:
        waiting = (container.get("state") or {}).get("waiting") or {}
        reason = waiting.get("reason") or ""
        message = waiting.get("message") or reason
        if reason in NEVER_PULLED:
            text = (
                f"the image {container.get('image')} cannot be pulled: {message}; look at "
                "environment.image, and at imagePullSecrets in environment.pod_spec where it "
                "needs credentials"
            )
            return Failure("task_error", text)
        if reason in STUCK_REASONS and is_old:
            text = f"the container {container.get('name')} cannot be started: {reason}: {message}"
            return Failure("task_error", text)
    return None


def _main(status: Json) -> Json:
    found: Json = next(
        (c.get("state") or {} for c in _containers(status) if c.get("name") == names.MAIN), {}
    )
    return {key: value or {} for key, value in found.items()}


def _containers(status: Json) -> list[Json]:
    return list(status.get("containerStatuses") or ())


def _addresses(pod: Json) -> tuple[Address, ...]:
    ip = (pod.get("status") or {}).get("podIP") or ""
    containers = (pod.get("spec") or {}).get("containers") or ()
    main: Json = next((c for c in containers if c.get("name") == names.MAIN), {})
    ports = [int(p["containerPort"]) for p in main.get("ports") or ()]
    return tuple(Address(ip, port, ip, port) for port in ports) if ip else ()


def _condition(status: Json, name: str) -> str:
    for condition in status.get("conditions") or ():
        if condition.get("type") == name and condition.get("status") != "True":
            return str(condition.get("message") or condition.get("reason") or "")
    return ""


def _placed_at(status: Json) -> datetime | None:
    for condition in status.get("conditions") or ():
        if condition.get("type") == "PodScheduled" and condition.get("status") == "True":
            return instant(condition.get("lastTransitionTime"))
    return None


def _is_unschedulable(status: Json) -> bool:
    return any(
        c.get("type") == "PodScheduled" and c.get("reason") == "Unschedulable"
        for c in status.get("conditions") or ()
    )


def _reason_text(status: Json) -> str:
    parts = [str(status.get("reason") or ""), str(status.get("message") or "").strip()]
    return ": ".join(part for part in parts if part) or "for no reason given"
