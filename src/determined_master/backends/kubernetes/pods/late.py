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
    seen = entry.seen
    if seen.created_at is None:
        return ""
    if not seen.is_scheduled and seen.is_handed_over:
        return ""  # the cluster decides when it starts
    waited_s = (now - (seen.placed_at or seen.created_at)).total_seconds()
    if not seen.is_scheduled:
        limit_s = times.unschedulable_s if seen.is_unschedulable else times.unplaced_s
        text = f"Kubernetes has not placed its pod {seen.name} on node {seen.node} within "
        text += f"{limit_s:g} s: {seen.waits_for or 'for no reason given'}"
        return text if waited_s > limit_s else ""
    is_tried = entry.obstacle_at is not None and now - entry.obstacle_at < OBSTACLE
    if entry.report.state != "PULLING" or not is_tried or waited_s <= times.unstarted_s:
        return ""
    return (
        f"node {seen.runs_on} has not started its pod {seen.name} within "
        f"{times.unstarted_s:g} s: {entry.obstacle}"
    )


def not_placed(seen: Observed, text: str) -> ContainerReport:
    """The end of a container whose pod is withdrawn."""
    return ContainerReport(
        container_id=seen.report.container_id,
        allocation_id=seen.report.allocation_id,
        state="TERMINATED",
        failure=Failure("not_placed", text),
    )
