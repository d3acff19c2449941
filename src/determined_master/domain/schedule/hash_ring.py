"""Ties between equally good agents: the choice is repeatable and spread over all of them.

The winner has the smallest distance, counted downwards on a hash ring, from the request's hash to
its own. Agents are sorted by their hashes, so a request costs one hash and one bisection, however
many agents are tied.

Source: scheduling-and-provisioning b.5.
"""

from __future__ import annotations

import hashlib
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from functools import lru_cache

HashRing = list[tuple[int, str]]
"""Hashes and ids of agents, ascending."""

_RANGE = 2**64


def hash_of(id: str) -> int:
    """The first 8 bytes of an id's MD5, the lowest first."""
    digest = hashlib.md5(id.encode(), usedforsecurity=False).digest()
    return int.from_bytes(digest[:8], "little")


@lru_cache(maxsize=65_536)
def member_of(agent_id: str) -> tuple[int, str]:
    """An agent as a member of rings."""
    return hash_of(agent_id), agent_id


def distance(request_hash: int, agent: int) -> int:
    """The distance from a request's hash down to an agent's, on the ring."""
    return (request_hash - agent) % _RANGE


def nearest(ring: Sequence[tuple[int, str]], request_hash: int) -> Iterator[tuple[int, str]]:
    """The members of a ring, the smallest distance first. Cost: a bisection, then O(1) each."""
    start = bisect_right(ring, request_hash, key=lambda member: member[0])
    for n in range(start - 1, start - 1 - len(ring), -1):
        yield ring[n]
