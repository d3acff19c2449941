"""How many ports of a Gateway one user may hold.

A user may hold at most four times as many ports as are free. So nobody alone uses up a range of
five ports or more (52 of 64), however many users share it, those who hold few get the last ports,
and a port that is freed goes to them first. A range with one user is used but for a fifth.
Source: dynamic thresholds, Choudhury and Hahne 1998, IEEE/ACM Transactions on Networking 6(2).
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

import msgspec

from determined_master.domain.pods.gateway_listeners import listener_ports, taken_ports
from determined_master.domain.pods.gateway_ports import PortRange

TIMES_FREE = 4
MAX_LISTENERS = 64
"""The maximum in the published definition of a Gateway."""
_NAMED = 3


class PortUse(msgspec.Struct, frozen=True, kw_only=True):
    """Who holds the ports of a range."""

    in_range: int
    """Free ports of the range."""
    listeners: int
    """Listeners that the Gateway may still get; below 0 where it has more than is known."""
    by_user: Mapping[str, int] = {}
    others: int = 0
    """Ports of the range that other masters have, or users whom nobody knows."""

    @property
    def free(self) -> int:
        """Ports that can be leased now."""
        return min(self.in_range, self.listeners)


def use_of(
    gateway: Mapping[str, Any],
    ports: PortRange,
    holders: Mapping[int, str],
    most_listeners: int = MAX_LISTENERS,
) -> PortUse:
    """Who holds the ports of a range.

    Args:
        gateway: as it is.
        ports: of tasks.
        holders: of each port that this master has leased: the user; empty where nobody knows.
        most_listeners: that the Gateway may have.
    """
    taken = _within(taken_ports(gateway) | holders.keys(), ports)
    by_user: dict[str, int] = {}
    for port in _within(holders.keys(), ports):
        by_user[holders[port]] = by_user.get(holders[port], 0) + 1
    by_user.pop("", None)
    return PortUse(
        in_range=ports.last - ports.first + 1 - len(taken),
        listeners=most_listeners - len(listener_ports(gateway)),
        by_user=by_user,
        others=len(taken) - sum(by_user.values()),
    )


def may_take(use: PortUse, user: str, wanted: int) -> bool:
    """Whether a user gets further ports now, as far as the share of one user goes."""
    held = use.by_user.get(user, 0)
    return held + wanted <= TIMES_FREE * (use.free - wanted + 1)


def holders_text(use: PortUse) -> str:
    """The users and their ports, most first: `ann 40, bob 3, others 2`; empty without any."""
    ranked = sorted(use.by_user.items(), key=lambda one: (-one[1], one[0]))
    parts = [f"{user} {count}" for user, count in ranked[:_NAMED]]
    rest = use.others + sum(count for _, count in ranked[_NAMED:])
    return ", ".join([*parts, *([f"others {rest}"] if rest else [])])


def _within(ports: Collection[int], wanted: PortRange) -> set[int]:
    return {port for port in ports if wanted.first <= port <= wanted.last}
