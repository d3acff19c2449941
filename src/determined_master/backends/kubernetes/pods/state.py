"""The fields of a pod that the backend uses. PURE."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

import msgspec

from determined_master.backends.kubernetes import names
from determined_master.backends.kubernetes.pods.ends import (
    given_up_image,
    not_pulled,
    pull_error,
    state_of,
)
from determined_master.backends.kubernetes.pods.status import (
    Json,
    condition_text,
    deleted_text,
    instant,
    is_past_deadline,
    is_unschedulable,
    main_state,
    placed_at,
)
from determined_master.domain.pods.gateway_ports import ports_of
from determined_master.domain.pods.queues import is_queue
from determined_wire.agent_link import Address, ContainerReport, Failure


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
    pull_error: str = ""
    """Why its node has not pulled an image, as far as that is reported."""
    given_up_image: str = ""
    """The image that its node tries again later, and for which it has ended."""
    user: str = ""
    """Whose task it is, as its label names them."""
    gateway_ports: Mapping[int, int] = {}
    """By port of the task: the port of the Gateway that leads to it."""


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
    main, spec = main_state(status), pod.get("spec") or {}
    runs_on = str(spec.get("nodeName") or "")
    is_scheduled, planned_for = bool(runs_on), str(notes.get(names.NODE) or "")
    state, failure, code = state_of(pod, main, now)
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
        is_ending="running" in main and is_past_deadline(status),
        is_evicted="running" in main and bool(meta.get("deletionTimestamp")),
        created_at=instant(meta.get("creationTimestamp")),
        waits_for="" if is_scheduled else condition_text(status, "PodScheduled"),
        is_unschedulable=not is_scheduled and is_unschedulable(status),
        is_handed_over=is_queue(planned_for),
        is_gated=bool(spec.get("schedulingGates")),
        runs_on=runs_on,
        placed_at=placed_at(status) if is_scheduled else None,
        scheduler=str(spec.get("schedulerName") or "default-scheduler"),
        pull_error=pull_error(status),
        given_up_image=given_up_image(status, failure),
        user=labels.get(names.USER, ""),
        gateway_ports=ports_of(str(notes.get(names.GATEWAY_PORTS) or "")),
    )


def gone(before: Observed) -> ContainerReport:
    """The end of a container whose pod vanished before it reported its exit."""
    meta = {"namespace": before.namespace, "name": before.name}
    failure = Failure(type="agent_failed", message=deleted_text({"metadata": meta}))
    return msgspec.structs.replace(
        before.report, state="TERMINATED", failure=failure, exit_code=None, addresses=()
    )


def ended_by_deletion(observed: Observed) -> Observed:
    """A pod that was deleted while its program ran: a failure of the program comes from that.

    The times of its node and of the API server need not agree for this.
    """
    failure = observed.report.failure
    if failure is None or failure.type != "container_failed":
        return observed
    meta = {"namespace": observed.namespace, "name": observed.name}
    lost = Failure("agent_failed", deleted_text({"metadata": meta}), observed.report.exit_code)
    report = msgspec.structs.replace(observed.report, failure=lost)
    return msgspec.structs.replace(observed, report=report)


def with_pull_error(observed: Observed, before: str) -> Observed:
    """A pod with the cause for which its node has not pulled an image.

    Nodes report the cause after each try, and in between only that they will try again.

    Args:
        before: the cause that the pod had.
    """
    cause = observed.pull_error or before
    report = observed.report
    if observed.given_up_image and cause:
        failure = not_pulled(observed.given_up_image, cause)
        report = msgspec.structs.replace(report, failure=failure)
    return msgspec.structs.replace(observed, pull_error=cause, report=report)


def _addresses(pod: Json) -> tuple[Address, ...]:
    ip = (pod.get("status") or {}).get("podIP") or ""
    containers = (pod.get("spec") or {}).get("containers") or ()
    main: Json = next((c for c in containers if c.get("name") == names.MAIN), {})
    ports = [int(p["containerPort"]) for p in main.get("ports") or ()]
    return tuple(Address(ip, port, ip, port) for port in ports) if ip else ()
