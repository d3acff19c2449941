"""The containers of a gang lie in the state while they are few, beside it when they are many."""

from __future__ import annotations

import msgspec
import pytest
from msgspec.structs import replace
from tests.domain.builders import alloc, changed, run, running

from determined_master.domain.allocation.container_rows import MAX_IN_STATE, count, join, split

LIMIT_BYTES = 10 << 10
PORTS = tuple((port, port) for port in range(29_400, 29_412))


def gang(size: int) -> alloc.Allocation:
    """On agents with long names, each container with a dozen ports."""
    state = running(*(f"agent-{n:04}.cluster.some-company.example" for n in range(size)))
    facts = {"id": "f" * 36, "ports": PORTS, "host_ip": "255.255.255.255"}
    return replace(state, containers=tuple(replace(c, **facts) for c in state.containers))


@pytest.mark.parametrize("size", [1, MAX_IN_STATE])
def test_a_small_gang_is_stored_in_one_piece_below_the_bound(size: int) -> None:
    state = gang(size)
    stored, beside = split(state)
    assert (stored, list(beside)) == (state, [])
    assert count(stored) == 0
    assert len(msgspec.json.encode(stored)) < LIMIT_BYTES


@pytest.mark.parametrize("size", [MAX_IN_STATE + 1, 200])
def test_a_large_gang_comes_back_whole_from_a_small_state(size: int) -> None:
    state = gang(size)
    stored, beside = split(state)
    assert stored.containers == ()
    assert count(stored) == len(beside) == size
    assert len(msgspec.json.encode(stored)) < 1 << 10
    assert join(stored, beside) == state


def test_the_place_of_a_container_is_its_rank_through_all_events() -> None:
    names = [f"a{n:02}" for n in range(MAX_IN_STATE + 4)]
    state = running(*names)
    state, _ = run(changed("a03", "TERMINATED", exit_code=0), state=state)
    assert [c.rank for c in split(state)[1]] == list(range(len(names)))
