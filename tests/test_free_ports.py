"""Nobody is given a port that somebody else is about to bind."""

from __future__ import annotations

import pytest
from tests import free_ports

pytestmark = pytest.mark.slow

DRAWS = 300
"""Of 2,000 numbers: drawn without a memory, some would come twice for certain."""


def test_no_port_is_given_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(free_ports, "_given", set())
    assert len({free_ports.free_port() for _ in range(DRAWS)}) == DRAWS


def test_two_workers_draw_none_alike(monkeypatch: pytest.MonkeyPatch) -> None:
    drawn: list[set[int]] = []
    for worker in ("gw0", "gw1"):
        monkeypatch.setenv("PYTEST_XDIST_WORKER", worker)
        monkeypatch.setattr(free_ports, "_given", set())
        drawn.append({free_ports.free_port() for _ in range(DRAWS)})
    assert drawn[0].isdisjoint(drawn[1])
