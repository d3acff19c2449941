"""The quotas and LimitRanges of namespaces, as the watches report them."""

from __future__ import annotations

from collections.abc import Mapping

from determined_master.backends.kubernetes.watches.watch import ObjectChanged, ObjectsListed
from determined_master.domain.pods.limit_ranges import LimitRangeCache
from determined_master.domain.pods.quota_cache import QuotaCache


class NamespaceRules:
    """Tasks are planned without them where the account lacks the right to watch them."""

    def __init__(self, quotas: QuotaCache, ranges: LimitRangeCache) -> None:
        self._caches: Mapping[str, QuotaCache | LimitRangeCache] = {
            "resourcequotas": quotas,
            "limitranges": ranges,
        }

    def __contains__(self, kind: str) -> bool:
        """Whether it is one of the kinds, in the plural."""
        return kind in self._caches

    def take(self, kind: str, change: ObjectsListed | ObjectChanged) -> None:
        """Objects of a kind are listed, or one of them is new, has changed or was deleted."""
        cache = self._caches[kind]
        if isinstance(change, ObjectsListed):
            cache.replace_all(change.items)
        elif change.kind == "DELETED":
            cache.remove(change.item)
        else:
            cache.put(change.item)

    def forget(self, kind: str) -> None:
        """Nothing is known of a kind."""
        self._caches[kind].replace_all(())
