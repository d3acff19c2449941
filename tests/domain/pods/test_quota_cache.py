"""Quotas as the cluster reports them."""

from __future__ import annotations

from typing import Any

from determined_master.domain.pods.quota_cache import QuotaCache


def quota(name: str, namespace: str = "lab", used: int = 0, **spec: Any) -> dict[str, Any]:
    status = {"hard": {"pods": 4}, "used": {"pods": used}}
    return {"metadata": {"name": name, "namespace": namespace}, "spec": spec, "status": status}


def used(board: QuotaCache) -> dict[str, list[tuple[str, int]]]:
    found = board.by_namespace()
    return {n: [(q.name, int(q.used["pods"])) for q in own] for n, own in found.items()}


def test_quotas_are_known_by_namespace_as_of_their_last_change() -> None:
    board = QuotaCache()
    board.replace_all([quota("b"), quota("a"), quota("c", "other")])
    assert used(board) == {"lab": [("a", 0), ("b", 0)], "other": [("c", 0)]}
    board.put(quota("a", used=3))
    board.remove(quota("c", "other"))
    assert used(board) == {"lab": [("a", 3), ("b", 0)]}
    board.put(quota("b", scopes=["BestEffort"]))
    assert used(board) == {"lab": [("a", 3)]}
    board.replace_all([])
    assert used(board) == {}
