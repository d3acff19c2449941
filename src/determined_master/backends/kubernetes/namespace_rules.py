"""The quotas and LimitRanges of namespaces, as the watches report them."""

from __future__ import annotations

from collections.abc import Mapping

from determined_master.backends.kubernetes.watches.watch import ObjectChanged, ObjectsListed
from determined_master.domain.pods.limit_ranges import LimitRangeBoard
from determined_master.domain.pods.quota_board import QuotaBoard


class NamespaceRules:
    """Tasks are planned without them where the account lacks the right to watch them."""

    def __init__(self, quotas: QuotaBoard, ranges: LimitRangeBoard) -> None:
        self._boards: Mapping[str, QuotaBoard | LimitRangeBoard] = {
            "resourcequotas": quotas,
            "limitranges": ranges,
        }

    def __contains__(self, kind: str) -> bool:
        """Whether it is one of the kinds, in the plural."""
        return kind in self._boards

    def take(self, kind: str, change: ObjectsListed | ObjectChanged) -> None:
        """Objects of a kind are listed, or one of them is new, has changed or was deleted."""
        board = self._boards[kind]
        if isinstance(change, ObjectsListed):
            board.replace_all(change.items)
        elif change.kind == "DELETED":
            board.remove(change.item)
        else:
            board.put(change.item)

    def forget(self, kind: str) -> None:
        """Nothing is known of a kind."""
        self._boards[kind].replace_all(())
