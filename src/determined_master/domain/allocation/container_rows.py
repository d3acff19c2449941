"""Rows of an allocation besides its state: the containers of a large gang.

The state is read and written with each event, so it must stay small. A thousand containers of 300
bytes each are too large for it. Gangs of up to 16 containers, nearly all gangs, keep them in the
state, which saves a second row.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from determined_master.domain.allocation.messages import Allocation, Container

MAX_IN_STATE = 16
"""Containers; with long names and a dozen ports each they take some 5 KiB."""


def split(state: Allocation) -> tuple[Allocation, Sequence[Container]]:
    """The stored state, and the containers that are stored beside it."""
    if len(state.containers) <= MAX_IN_STATE:
        return state, ()
    stored = replace(state, containers=(), container_rows=len(state.containers))
    return stored, state.containers


def count(stored: Allocation) -> int:
    """How many containers are stored beside a state."""
    return stored.container_rows


def join(stored: Allocation, containers: Sequence[Container]) -> Allocation:
    """The inverse of `split`."""
    return replace(stored, containers=tuple(containers), container_rows=0)
