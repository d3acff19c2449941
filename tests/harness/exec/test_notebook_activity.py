"""Idle detection of notebooks."""

from __future__ import annotations

from typing import Any

import pytest
from tests.covers import covers

from determined.exec._log import EntryFailed
from determined.exec._servers.notebook_activity import Activity, IdleCheck


def kernel(connections: int = 0, state: str = "idle", at: str = "2026-01-01T00:00:00Z") -> Any:
    return {"connections": connections, "execution_state": state, "last_activity": at}


def seen(*kernels: Any, terminals: Any = (), sessions: Any = ()) -> Activity:
    return Activity(list(kernels), list(terminals), list(sessions))


@covers("task-contract 7.2.kernels_or_terminals")
def test_anything_open_is_use() -> None:
    check = IdleCheck("kernels_or_terminals")
    assert check.is_idle(seen())
    assert not check.is_idle(seen(kernel()))
    assert not check.is_idle(seen(terminals=[{"name": "1"}]))
    assert not check.is_idle(seen(sessions=[{"id": "1"}]))


@covers("task-contract 7.2.kernel_connections")
def test_connections_are_use() -> None:
    check = IdleCheck("kernel_connections")
    assert check.is_idle(seen(kernel(0), terminals=[{"name": "1"}]))
    assert not check.is_idle(seen(kernel(0), kernel(2, "idle")))


@covers("task-contract 7.2.activity")
def test_recent_activity_counts_as_use() -> None:
    check = IdleCheck("activity")
    assert not check.is_idle(seen(kernel())), "nothing to compare with"
    assert check.is_idle(seen(kernel()))
    assert not check.is_idle(seen(kernel(state="busy")))
    later = "2026-01-01T00:01:00Z"
    assert not check.is_idle(seen(kernel(), terminals=[{"last_activity": later}]))
    assert check.is_idle(seen(kernel(), terminals=[{"last_activity": later}]))


def test_an_unknown_type_is_named() -> None:
    with pytest.raises(EntryFailed, match="'mouse' must be one of kernels_or_terminals, "):
        IdleCheck("mouse")
