"""Pods that have waited too long to begin."""

from __future__ import annotations

from datetime import datetime, timedelta

from determined_master.backends.kubernetes.options import Times
from determined_master.backends.kubernetes.pods.state import Observed
from determined_master.backends.kubernetes.pods.steps import PodEntry
from determined_wire.agent_link import ContainerReport, Failure

OBSTACLE = timedelta(minutes=5)
"""A node reports an obstacle more often than that as long as it lasts."""


def given_up(entry: PodEntry, now: datetime, times: Times) -> str:
    """Why a pod that has not begun is withdrawn; empty while it may still begin."""
    pod = entry.seen
    if pod.created_at is None:
        return ""
    if not pod.is_scheduled and pod.is_handed_over:
        return ""  # the cluster decides when it starts
    waited_s = (now - (pod.placed_at or pod.created_at)).total_seconds()
    if not pod.is_scheduled:
        limit_s = times.unschedulable_s if pod.is_unschedulable else times.unplaced_s
        text = f"Kubernetes has not placed its pod {pod.name} on node {pod.node} within "
        text += f"{limit_s:g} s: {pod.waits_for or 'for no reason given'}"
        return text if waited_s > limit_s else ""
    is_tried = entry.obstacle_at is not None and now - entry.obstacle_at < OBSTACLE
    if entry.report.state != "PULLING" or not is_tried or waited_s <= times.unstarted_s:
        return ""
    return (
        f"node {pod.runs_on} has not started its pod {pod.name} within "
        f"{times.unstarted_s:g} s: {entry.obstacle}"
    )


def not_placed(observed: Observed, text: str) -> ContainerReport:
    """The end of a container whose pod is withdrawn."""
    return ContainerReport(
        container_id=observed.report.container_id,
        allocation_id=observed.report.allocation_id,
        state="TERMINATED",
        failure=Failure("not_placed", text),
    )
