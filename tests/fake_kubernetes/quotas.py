"""Quotas of the fake cluster: counted with each pod, and enforced when one is made."""

from __future__ import annotations

from decimal import Decimal

from tests.fake_kubernetes.store import Json, Store

from determined_master.domain.pods.needs import requested
from determined_master.domain.pods.quantities import Amounts, quantity, total
from determined_master.domain.pods.quotas import quota_uses


def refusal(store: Store, namespace: str, kind: str, item: Json) -> str:
    """Why the quotas of a namespace do not admit a pod or a Secret; empty when they do."""
    wanted = _uses(item) if kind == "pods" else quota_uses({}, {}, 0, 1)
    for quota in store.list("resourcequotas", namespace, {}):
        used = _used(store, namespace)
        name = quota["metadata"]["name"]
        for resource, text in quota["spec"]["hard"].items():
            asked = wanted.get(resource, Decimal(0))
            if asked and used.get(resource, Decimal(0)) + asked > quantity(text):
                return (
                    f'{kind} "{item["metadata"]["name"]}" is forbidden: exceeded quota: {name}, '
                    f"requested: {resource}={asked}, used: {resource}={used.get(resource, 0)}, "
                    f"limited: {resource}={text}"
                )
    return ""


def out_of_range(store: Store, namespace: str, pod: Json) -> str:
    """Why the LimitRanges of a namespace do not admit a pod; empty when they do."""
    for item in store.list("limitranges", namespace, {}):
        for limit in item["spec"]["limits"]:
            for resource, most in (limit.get("max") or {}).items():
                for container in pod["spec"]["containers"]:
                    given = container.get("resources", {}).get("limits", {}).get(resource)
                    if given is not None and quantity(given) > quantity(most):
                        return (
                            f'pods "{pod["metadata"]["name"]}" is forbidden: maximum {resource} '
                            f"usage per Container is {most}, but limit is {given}"
                        )
    return ""


async def count(store: Store, namespace: str) -> None:
    """Write into the quotas of a namespace what is used."""
    used = _used(store, namespace)
    for quota in store.list("resourcequotas", namespace, {}):
        hard = quota["spec"]["hard"]
        counted = {resource: str(used.get(resource, Decimal(0))) for resource in hard}
        status = {"hard": hard, "used": counted}
        if quota.get("status") != status:
            await store.put("resourcequotas", {**quota, "status": status})


def _used(store: Store, namespace: str) -> Amounts:
    pods = store.list("pods", namespace, {})
    ended = ("Succeeded", "Failed")
    running = [p for p in pods if (p.get("status") or {}).get("phase") not in ended]
    secrets = len(store.list("secrets", namespace, {}))
    return total([*map(_uses, running), quota_uses({}, {}, 0, secrets)])


def _uses(pod: Json) -> Amounts:
    spec = pod.get("spec") or {}
    return quota_uses(requested(spec), requested(spec, "limits"), 1)
