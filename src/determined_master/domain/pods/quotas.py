"""ResourceQuotas of a namespace: how much of them a task's pods use, and which of them is full.

Kubernetes refuses a pod beyond a quota when it is created. A request that would be refused is not
planned, so that it holds no slots and preempts nobody.

Source: https://kubernetes.io/docs/concepts/policy/resource-quotas/
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any

import msgspec

from determined_master.domain.pods.quantities import Amounts, amount_text, quantity

_BARE = ("cpu", "memory", "ephemeral-storage", "hugepages-")
"""Resources that a quota may name without `requests.`."""
_COUNTS = ("", "count/")
"""Before the name of a kind of objects."""
_MATCHED = frozenset({"NotTerminating"})
"""Scopes that contain the pods of tasks, which have no deadline when they are created."""


class QuotaFacts(msgspec.Struct, frozen=True, kw_only=True):
    """One ResourceQuota."""

    namespace: str
    name: str
    hard: Amounts
    used: Amounts


def quota_of(item: Mapping[str, Any]) -> QuotaFacts | None:
    """A quota as the API server describes it.

    None for one whose scope leaves tasks out, or depends on more than their resources.
    """
    meta, spec, status = (item.get(part) or {} for part in ("metadata", "spec", "status"))
    if spec.get("scopeSelector") or not _MATCHED.issuperset(spec.get("scopes") or ()):
        return None
    return QuotaFacts(
        namespace=str(meta.get("namespace")),
        name=str(meta.get("name")),
        hard=_amounts(status.get("hard") or spec.get("hard")),
        used=_amounts(status.get("used")),
    )


def _amounts(value: Mapping[str, Any] | None) -> dict[str, Decimal]:
    return {str(k): quantity(v) for k, v in (value or {}).items()}


def quota_uses(
    requests: Amounts, limits: Amounts, pods: int, secrets: int = 0
) -> dict[str, Decimal]:
    """The amounts of a quota that pods use, by the quota's names.

    Args:
        requests: of all pods together.
        limits: of all pods together.
        pods: their number.
        secrets: of all pods together.
    """
    counts = {"pods": pods, "secrets": secrets}
    found = {f"{before}{kind}": Decimal(n) for kind, n in counts.items() for before in _COUNTS}
    for resource, amount in requests.items():
        if resource == "pods":
            continue
        found[f"requests.{resource}"] = amount
        if resource.startswith(_BARE):
            found[resource] = amount
    found.update({f"limits.{resource}": amount for resource, amount in limits.items()})
    return found


def freed_by_placeholders(uses: Amounts, placeholders: int, pods: int) -> dict[str, Decimal]:
    """The change of a quota's use when the placeholders of a task go; they have no Secrets.

    Args:
        uses: of the pods of the task, which are alike.
        placeholders: how many pods one stands for at present.
        pods: of the task, at least 1.
    """
    return {
        name: -amount * placeholders / pods
        for name, amount in uses.items()
        if "secrets" not in name
    }


def exceeded(quotas: Sequence[QuotaFacts], uses: Amounts, more: Amounts | None = None) -> str:
    """The first quota that does not admit further pods, in words; empty when all do.

    Args:
        quotas: of the namespace.
        uses: of the pods.
        more: what other pods use that the quotas do not count yet.
    """
    for quota in quotas:
        for resource, limit in quota.hard.items():
            wanted = uses.get(resource, Decimal(0))
            used = quota.used.get(resource, Decimal(0)) + (more or {}).get(resource, Decimal(0))
            if wanted > 0 and used + wanted > limit:
                return _text(quota, resource, used, wanted)
    return ""


def _text(quota: QuotaFacts, resource: str, used: Decimal, wanted: Decimal) -> str:
    limit = quota.hard[resource]
    what = f"quota {quota.name} of namespace {quota.namespace}"
    needs = f"and the task needs {amount_text(resource, wanted)}"
    if wanted > limit:
        return (
            f"{what} allows {amount_text(resource, limit)} at all, {needs}: ask for less, or let "
            "an admin raise the quota"
        )
    part = amount_text(resource, used).partition(" ")[0]
    return f"{what} has {part} of {amount_text(resource, limit)} in use, {needs}"
