"""The ResourceQuotas of all namespaces, as the cluster reports them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from determined_master.domain.pods.quotas import QuotaFacts, quota_of

Json = Mapping[str, Any]


class QuotaCache:
    """Quotas by namespace, in the order of their names."""

    def __init__(self) -> None:
        self._known: dict[tuple[str, str], QuotaFacts] = {}
        self._by_namespace: dict[str, tuple[QuotaFacts, ...]] = {}

    def replace_all(self, items: Iterable[Json]) -> None:
        """All existing quotas: others are deleted."""
        self._known = {}
        for item in items:
            self._note(item)
        self._group()

    def put(self, item: Json) -> None:
        """A quota is new or has changed."""
        self._note(item)
        self._group()

    def remove(self, item: Json) -> None:
        """A quota was removed."""
        self._known.pop(_key(item), None)
        self._group()

    def by_namespace(self) -> Mapping[str, tuple[QuotaFacts, ...]]:
        return self._by_namespace

    def _note(self, item: Json) -> None:
        found = quota_of(item)
        if found is None:
            self._known.pop(_key(item), None)
        else:
            self._known[_key(item)] = found

    def _group(self) -> None:
        grouped: dict[str, list[QuotaFacts]] = {}
        for (namespace, _), quota in sorted(self._known.items()):
            grouped.setdefault(namespace, []).append(quota)
        self._by_namespace = {namespace: tuple(own) for namespace, own in grouped.items()}


def _key(item: Json) -> tuple[str, str]:
    meta = item.get("metadata") or {}
    return str(meta.get("namespace")), str(meta.get("name"))
