"""Outcomes of policies on a queue: as recorded, and as simulated."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime

import msgspec

from determined_master.domain.errors import InvalidArgument
from determined_master.domain.schedule.frames import Frame, FrameHistory
from determined_master.domain.schedule.plan import Plan
from determined_master.domain.schedule.simulation.simulate import SimResult
from determined_master.domain.schedule.simulation.workload import Recorded
from determined_master.domain.schedule.view import AgentView, PoolView, Rules


class PolicyOutcome(msgspec.Struct, frozen=True):
    """One policy's outcome; times in seconds."""

    policy: str
    tasks: int
    ended: int
    wait_mean_s: float
    wait_p50_s: float
    wait_p95_s: float
    wait_max_s: float
    utilisation: float
    preemptions: int
    makespan_s: float


def parse_policy(text: str, base: Rules) -> Rules:
    """`priority+preemption+worst`: words joined by plus signs, over the rules of the pool.

    Raises:
        InvalidArgument: an unknown word.
    """
    rules = base
    for word in text.split("+"):
        match word:
            case "recorded":
                pass
            case "priority" | "fair_share":
                rules = msgspec.structs.replace(rules, type=word, preemption=False)
            case "preemption":
                rules = msgspec.structs.replace(rules, preemption=True)
            case "best" | "worst":
                rules = msgspec.structs.replace(rules, fitting=word)
            case "heterogeneous":
                rules = msgspec.structs.replace(rules, is_heterogeneous=True)
            case _:
                raise InvalidArgument(
                    f"policy {text!r}: {word!r} is none of recorded, priority, fair_share, "
                    "preemption, best, worst, heterogeneous"
                )
    return rules


def parse_agents(text: str) -> list[tuple[int, int]]:
    """`4x8,2x4`: four agents of 8 slots and two of 4.

    Raises:
        InvalidArgument: it has another form.
    """
    groups = []
    for part in text.split(","):
        count, _, slots = part.partition("x")
        if not (count.isdecimal() and slots.isdecimal()) or not 1 <= int(count) <= 100_000:
            raise InvalidArgument(f"agents {text!r}: the form is COUNTxSLOTS, as in 4x8,2x4")
        groups.append((int(count), int(slots)))
    return groups


def outcome_of(name: str, result: SimResult) -> PolicyOutcome:
    """How a simulation went."""
    return PolicyOutcome(
        name,
        len(result.tasks),
        sum(t.ended_s is not None for t in result.tasks),
        *_waits([t.waited_s for t in result.tasks]),
        result.utilisation,
        len(result.preemptions),
        result.makespan_s,
    )


def recorded_outcome(recorded: Recorded) -> PolicyOutcome:
    """How it went in reality."""
    count = len(recorded.tasks)
    return PolicyOutcome(
        "(as it was)",
        count,
        count - min(count, recorded.unfinished),
        *_waits(list(recorded.waited_s.values())),
        recorded.utilisation,
        recorded.preemptions,
        recorded.span_s,
    )


def _waits(waits: list[float]) -> tuple[float, float, float, float]:
    ordered = sorted(waits)
    if not ordered:
        return 0.0, 0.0, 0.0, 0.0
    p95 = ordered[min(len(ordered) - 1, int(0.95 * len(ordered)))]
    return statistics.fmean(ordered), statistics.median(ordered), p95, ordered[-1]


def decisions_since(
    film: FrameHistory, frames: Iterable[Frame], since: datetime
) -> Iterator[tuple[PoolView, Plan]]:
    """The decisions from then on; earlier ones only build the state."""
    before: tuple[PoolView, Plan] | None = None
    for frame in frames:
        decision = film.play(frame)
        if frame.at < since:
            before = decision
            continue
        if before is not None:
            view, _ = before
            yield msgspec.structs.replace(view, now=since), Plan()
            before = None
        yield decision


def shape_of(agents: Sequence[AgentView]) -> str:
    """How many agents of which size, in words."""
    counts: dict[int, int] = {}
    for agent in agents:
        counts[agent.slots] = counts.get(agent.slots, 0) + 1
    return "agents: " + ", ".join(f"{n} x {size} slots" for size, n in sorted(counts.items()))
