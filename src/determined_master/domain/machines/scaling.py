"""How many machines a pool should have: idle ones are ended, waiting requests get new ones."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Literal

import msgspec

from determined_master.domain.machines.starts import MachineStart

MachineState = Literal["starting", "running", "stopping", "stopped", "terminating", "unknown"]


class Machine(msgspec.Struct, frozen=True, kw_only=True):
    """A machine of a pool, as its provider lists it."""

    id: str
    agent_name: str
    """The id with which its agent joins."""
    state: MachineState
    launched_at: datetime
    is_spot: bool = False
    instance_type: str = ""
    """Empty if unknown."""
    price_per_hour: float | None = None
    """Usual US dollars; None if unknown."""


class MachineType(msgspec.Struct, frozen=True, kw_only=True):
    slots: int
    """Of its agent; 0 where the agent only takes tasks without slots."""
    device_type: Literal["cuda", "rocm", "cpu", ""] = ""
    """Of the slots; empty without slots."""
    instance_type: str = ""
    image: str = ""
    """Its boot image."""
    accelerator: str = ""
    """The name in messages: `8 x A100`."""
    location: str = ""
    """Region or zone; empty while the provider has not reported it."""
    is_preemptible: bool = False
    """Whether the provider may reclaim it at any time."""
    price_per_hour: float | None = None
    """Usual US dollars; None if unknown."""


class Limits(msgspec.Struct, frozen=True, kw_only=True):
    """The limits on the number of machines and on durations."""

    min_machines: int = 0
    max_machines: int = 5
    max_idle: timedelta = timedelta(minutes=20)
    max_starting: timedelta = timedelta(minutes=20)
    max_disconnected: timedelta = timedelta(minutes=10)
    return_wait: timedelta = timedelta(seconds=25)
    """How long a lost agent may still reconnect."""


class Seen(msgspec.Struct, frozen=True, kw_only=True):
    """A machine, and the work of its agent."""

    machine: Machine
    agent: Literal["busy", "idle", "away"]
    """`busy` takes precedence: the work of a lost agent may still run."""
    is_wanted: bool = False
    """Whether a waiting request might be placed on it."""
    start: MachineStart | None = None
    """The last report of its start script; None for none."""


class Clocks(msgspec.Struct, frozen=True):
    """The start of each machine's idle time and of its time without an agent, by id.

    Only work ends an idle time, because a machine whose agent reconnects often costs as much as
    any other. A time without an agent ends with a tick that sees the agent, and with a new leader,
    since no agent could connect without a leader.
    """

    idle_since: dict[str, datetime] = msgspec.field(default_factory=dict)
    away_since: dict[str, datetime] = msgspec.field(default_factory=dict)


EndingReason = Literal[
    "stopped",
    "its start has failed",
    "long disconnected",
    "long idle",
    "not granted yet, and nothing waits any more",
    "more machines than the maximum",
]


class Ending(msgspec.Struct, frozen=True):
    """A machine to end, and the reason."""

    machine: Machine
    reason: EndingReason


class Scaling(msgspec.Struct, frozen=True, kw_only=True):
    """The actions, and the counts behind them."""

    launch: int
    endings: tuple[Ending, ...]
    clocks: Clocks
    """For the next tick."""
    machines: int
    """The machines that count: all except stopped and ending ones."""
    starting: int
    """Those of them whose agents have not joined yet."""
    idle: int


def scale(
    seen: Sequence[Seen],
    desired: int,
    limits: Limits,
    clocks: Clocks,
    now: datetime,
    *,
    held: int = 0,
) -> Scaling:
    """Decide which machines end, and how many more start.

    Starting machines count against the desired number, and so do idle ones that might get waiting
    work: the machines of a gang appear one by one, and each would cause a replacement. For the
    same reason such a machine stays, however long it is idle. A machine with running work is never
    ended.

    Args:
        seen: all machines of the pool, in any order; the order never changes the answer.
        desired: machines for waiting requests, besides those with running work.
        limits: of the pool.
        clocks: of the look before.
        now: of this look.
        held: further machines that may exist and cost, though nothing can run on them: their end
            was requested and has not begun, or they were started and never listed.

    Returns:
        A launch after which there are at most `max_machines`, with those held, and at least
        `min_machines` if the maximum allows them.

    Cost: O(n log n) in machines.
    """
    groups = _group(seen, limits, now)
    later = _continue(groups, clocks, now)
    endings, left = _endings(groups, desired, limits, later, now)
    count = sum(len(groups[name]) for name in COUNTED)
    soon = [s for s in groups["away"] if _age(later.away_since, s, now) <= limits.return_wait]
    ready = [s for s in groups["idle"] if s.is_wanted]
    starting = len(groups["starting"])
    lowest, highest = limits.min_machines - left, limits.max_machines - count - held
    launch = min(max(desired - starting - len(soon) - len(ready), lowest), highest)
    return Scaling(
        launch=max(0, launch),
        endings=tuple(endings),
        clocks=later,
        machines=count,
        starting=starting,
        idle=len(groups["idle"]),
    )


COUNTED = ("starting", "failed", "away", "idle", "busy")
_Groups = dict[str, list[Seen]]


def _group(seen: Sequence[Seen], limits: Limits, now: datetime) -> _Groups:
    groups: _Groups = {name: [] for name in (*COUNTED, "stopped", "leaving")}
    for one in sorted(seen, key=lambda s: s.machine.id):
        groups[_group_of(one, limits, now)].append(one)
    return groups


def _group_of(seen: Seen, limits: Limits, now: datetime) -> str:
    machine = seen.machine
    if machine.state == "stopped":
        return "stopped"
    if machine.state not in ("starting", "running"):
        return "leaving"
    if seen.agent != "away":
        return seen.agent
    if seen.start is not None and seen.start.has_failed:
        return "failed"
    return "starting" if now - machine.launched_at < limits.max_starting else "away"


def _continue(groups: _Groups, clocks: Clocks, now: datetime) -> Clocks:
    """The clocks of machines that are still idle or away continue; those of others start."""
    idle, away = ([s.machine.id for s in groups[name]] for name in ("idle", "away"))
    unseen = {s.machine.id for name in ("starting", "failed", "away") for s in groups[name]}
    before = {id: since for id, since in clocks.idle_since.items() if id in unseen}
    return Clocks(
        idle_since=before | {id: clocks.idle_since.get(id, now) for id in idle},
        away_since={id: clocks.away_since.get(id, now) for id in away},
    )


def _endings(
    groups: _Groups, desired: int, limits: Limits, clocks: Clocks, now: datetime
) -> tuple[list[Ending], int]:
    """The machines to end, and how many of the counted ones remain."""
    endings = [Ending(s.machine, "stopped") for s in groups["stopped"]]
    endings += [Ending(s.machine, "its start has failed") for s in groups["failed"]]
    left = sum(len(groups[name]) for name in COUNTED) - len(groups["failed"])
    idle = sorted(groups["idle"], key=lambda s: (clocks.idle_since[s.machine.id], s.machine.id))
    away = sorted(groups["away"], key=lambda s: (clocks.away_since[s.machine.id], s.machine.id))
    lost = [s for s in away if _age(clocks.away_since, s, now) > limits.max_disconnected]
    endings += [Ending(s.machine, "long disconnected") for s in lost]
    left -= len(lost)
    long_idle = _long_idle(idle, desired, limits, clocks, now)[
        : max(0, left - limits.min_machines)
    ]
    endings += [Ending(s.machine, "long idle") for s in long_idle]
    left -= len(long_idle)
    spare = _spare([*idle, *away], groups["starting"], endings)
    surplus = spare[: max(0, left - limits.max_machines)]
    endings += [Ending(s.machine, "more machines than the maximum") for s in surplus]
    return endings, left - len(surplus)


def _long_idle(
    idle: Sequence[Seen], desired: int, limits: Limits, clocks: Clocks, now: datetime
) -> list[Seen]:
    """Idle machines that may end, the longest idle first: the youngest stay for requests."""
    preferred = [s for s in reversed(idle) if s.is_wanted][:desired]
    long_idle = [s for s in idle if _age(clocks.idle_since, s, now) > limits.max_idle]
    return [s for s in long_idle if s not in preferred]


def _spare(joined: Sequence[Seen], starting: Sequence[Seen], endings: list[Ending]) -> list[Seen]:
    """The machines that do not end yet, in the order in which a lower maximum ends them."""
    ended = {ending.machine.id for ending in endings}
    youngest = sorted(starting, key=lambda s: (s.machine.launched_at, s.machine.id), reverse=True)
    return [s for s in (*joined, *youngest) if s.machine.id not in ended]


def _age(since: dict[str, datetime], seen: Seen, now: datetime) -> timedelta:
    return now - since[seen.machine.id]
