"""The nodes that a pod can run on, and the reasons that exclude the others."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from decimal import Decimal
from typing import Any

import msgspec

from determined_master.domain.pods.limit_ranges import ResourceDefaults
from determined_master.domain.pods.needs import PodNeeds
from determined_master.domain.pods.quantities import Amounts, amount_text, quantity
from determined_master.domain.pods.quotas import QuotaFacts
from determined_master.domain.pods.selection import (
    UNSCHEDULABLE,
    matches,
    missing_label,
    terms_text,
    tolerates,
    untolerated,
)

MAX_REASONS = 4
MAX_CHARACTERS = 300
_CORDON = {"key": UNSCHEDULABLE, "effect": "NoSchedule"}


class NodeFacts(msgspec.Struct, frozen=True, kw_only=True):
    """The properties of a node that Kubernetes' scheduler compares."""

    name: str
    labels: Mapping[str, str] = {}
    taints: tuple[Mapping[str, Any], ...] = ()
    is_unschedulable: bool = False
    allocatable: Amounts = {}


class NodeLoad(msgspec.Struct, frozen=True):
    """A node, and the requests of the pods there that are not ours."""

    facts: NodeFacts
    foreign: Amounts = {}


class ClusterLoads(msgspec.Struct, frozen=True):
    """The nodes of a cluster by the ids of their agents, and the rules of its namespaces."""

    nodes: Mapping[str, NodeLoad]
    per_slot: Amounts = {}
    """The requests of one slot."""
    quotas: Mapping[str, tuple[QuotaFacts, ...]] = {}
    """By namespace."""
    defaults: Mapping[str, ResourceDefaults] = {}
    """Of containers without resources, by namespace."""
    domain_labels: Mapping[str, str] = {}
    """By kind of domain (`rack`, `zone`): the label of nodes with the domain's name."""
    replaced: frozenset[str] = frozenset()
    """Resources of slots that a claim of devices replaces: the task's container requests none."""


class Misfit(msgspec.Struct, frozen=True):
    """Why a pod cannot run on a node."""

    one: str
    """Of one node: `lacks the label gpu-type=h100`."""
    many: str
    """Of several nodes: `lack the label gpu-type=h100`."""
    is_lasting: bool = True
    """Whether it stays so when other pods end there."""


_NO_MORE_PODS = Misfit(
    "runs as many pods as it may", "run as many pods as they may", is_lasting=False
)


def facts_of(node: Mapping[str, Any]) -> NodeFacts:
    """The facts in a node as the API server describes it."""
    meta, spec = node.get("metadata") or {}, node.get("spec") or {}
    offered = (node.get("status") or {}).get("allocatable") or {}
    return NodeFacts(
        name=str(meta.get("name")),
        labels=meta.get("labels") or {},
        taints=tuple(spec.get("taints") or ()),
        is_unschedulable=bool(spec.get("unschedulable")),
        allocatable={str(k): quantity(v) for k, v in offered.items()},
    )


def misfit(needs: PodNeeds, node: NodeFacts, used: Amounts | None = None) -> Misfit | None:
    """Why Kubernetes would not place a pod on a node; None when it would.

    Args:
        needs: of the pod.
        node: where.
        used: the requests of other pods there.
    """
    return (
        _unselected(needs, node)
        or _tainted(needs, node)
        or shortage(needs.requests, node, used or {})
    )


def shortage(requests: Amounts, node: NodeFacts, used: Amounts) -> Misfit | None:
    """The first resource of which a node has too little for a pod; None when it has enough."""
    for resource, amount in requests.items():
        if amount <= 0 or _is_unlimited(resource, node):
            continue
        offered = node.allocatable.get(resource, Decimal(0))
        if amount > offered:
            text = f"less than {amount_text(resource, amount)}"
            return Misfit(f"has {text}", f"have {text}")
        if amount > offered - used.get(resource, Decimal(0)):
            if resource == "pods":
                return _NO_MORE_PODS
            text = f"less than {amount_text(resource, amount)} free"
            return Misfit(f"has {text}", f"have {text}", is_lasting=False)
    return None


def pods_that_fit(requests: Amounts, node: NodeFacts, used: Amounts | None = None) -> int | None:
    """How many pods with these requests the free resources of a node hold; None for no limit."""
    left = {r: node.allocatable.get(r, Decimal(0)) - (used or {}).get(r, 0) for r in requests}
    counts = [
        max(0, int(left[resource] // amount))
        for resource, amount in requests.items()
        if amount > 0 and not _is_unlimited(resource, node)
    ]
    return min(counts, default=None)


def summary(misfits: Iterable[Misfit], nodes: int) -> str:
    """The reasons that exclude nodes, the most frequent first.

    `3 of 4 nodes lack the label gpu-type=h100, 1 has less than 32Gi of memory`; empty without any.
    """
    counts: dict[Misfit, int] = {}
    for one in misfits:
        counts[one] = counts.get(one, 0) + 1
    ordered = sorted(counts.items(), key=lambda item: (-item[1], item[0].one))
    parts = [
        f"{count}{f' of {nodes} {_nodes(nodes)}' if not n else ''} "
        f"{reason.one if count == 1 else reason.many}"
        for n, (reason, count) in enumerate(ordered[:MAX_REASONS])
    ]
    left = sum(count for _, count in ordered[MAX_REASONS:])
    return ", ".join([*parts, *([f"{left} for other reasons"] if left else [])])


def _nodes(count: int) -> str:
    return "node" if count == 1 else "nodes"


def _unselected(needs: PodNeeds, node: NodeFacts) -> Misfit | None:
    label = missing_label(needs.selector, node.labels)
    if label:
        text = f"the label {_cut(label)}"
        return Misfit(f"lacks {text}", f"lack {text}")
    if needs.terms is not None and not matches(needs.terms, node.labels, node.name):
        text = f"not match the node affinity ({_cut(terms_text(needs.terms))})"
        return Misfit(f"does {text}", f"do {text}")
    return None


def _cut(text: str) -> str:
    """A part of a user's pod spec, as much of it as fits a line."""
    return text if len(text) <= MAX_CHARACTERS else f"{text[:MAX_CHARACTERS]}…"


def _tainted(needs: PodNeeds, node: NodeFacts) -> Misfit | None:
    if node.is_unschedulable and not any(tolerates(t, _CORDON) for t in needs.tolerations):
        return Misfit("is cordoned", "are cordoned")
    taint = untolerated(node.taints, needs.tolerations)
    if taint is None:
        return None
    value = f"={taint['value']}" if taint.get("value") else ""
    text = f"the taint {taint.get('key')}{value}:{taint.get('effect')}, which is not tolerated"
    return Misfit(f"has {text}", f"have {text}")


def _is_unlimited(resource: str, node: NodeFacts) -> bool:
    """Every kubelet reports how many pods it takes; a node without one reports nothing else."""
    return resource == "pods" and resource not in node.allocatable
