"""`determined-master simulate`: replays a queue under other rules or with other agents."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from random import Random
from typing import TYPE_CHECKING

import msgspec

from determined_master import clock
from determined_master.domain.errors import InvalidArgument, NotFound
from determined_master.domain.schedule.frames import FrameHistory
from determined_master.domain.schedule.simulation.outcomes import (
    PolicyOutcome,
    decisions_since,
    outcome_of,
    parse_agents,
    parse_policy,
    recorded_outcome,
    shape_of,
)
from determined_master.domain.schedule.simulation.simulate import SimTask, agents_of, simulate
from determined_master.domain.schedule.simulation.workload import generate, record_of
from determined_master.domain.schedule.view import AgentView, Rules
from determined_master.pools.recorder import read_frame
from determined_master.store.queue import plan_frames

if TYPE_CHECKING:
    from determined_master.settings.simulate import SimulateOptions
    from determined_master.store.db import Conn

COLUMNS = (
    "policy",
    "tasks",
    "ended",
    "wait mean",
    "wait p50",
    "wait p95",
    "wait max",
    "used",
    "preempted",
    "makespan",
)


async def run_recorded(options: SimulateOptions, conn: Conn) -> str:
    """Replay the recording of a pool.

    Raises:
        NotFound: the pool has no recording of that time.
    """
    until = _instant(options.until) or clock.now()
    since = _instant(options.since) or until - timedelta(days=3650)
    rows = await plan_frames.list_frames(conn, options.pool, since, until)
    if not rows:
        recordings = await plan_frames.list_recorded_pools(conn)
        form = "%Y-%m-%dT%H:%MZ"
        text = "; ".join(f"{p}: {a:{form}} to {b:{form}}" for p, _, a, b in recordings)
        raise NotFound(
            f"nothing was recorded of pool {options.pool!r} in that time; recorded: "
            f"{text or 'nothing'}"
        )
    film = FrameHistory()
    recorded = record_of(decisions_since(film, (read_frame(row) for row in rows), since))
    if recorded is None or not recorded.tasks:
        raise NotFound(f"no task ran in pool {options.pool!r} in that time: nothing to simulate")
    agents = _agents(options, recorded.agents)
    lines = [recorded_outcome(recorded), *_lines(options, recorded.tasks, agents, recorded.rules)]
    head = (
        f"{len(recorded.tasks)} tasks recorded of pool {options.pool} in "
        f"{_span(recorded.span_s)}, {recorded.unfinished} of them unfinished: simulated up to "
        f"the end of the recording; {shape_of(agents)}"
    )
    return _report(options, head, lines)


def run_generated(options: SimulateOptions) -> str:
    """Simulate a random queue; the same seed gives the same queue."""
    agents = _agents(options, agents_of([(4, 8)]))
    slots = sum(a.slots for a in agents)
    tasks = generate(options.generate, slots, Random(options.seed))
    head = f"{len(tasks)} generated tasks (seed {options.seed}); {shape_of(agents)}"
    return _report(options, head, _lines(options, tasks, agents, Rules()))


def _lines(
    options: SimulateOptions,
    tasks: Sequence[SimTask],
    agents: Sequence[AgentView],
    base: Rules,
) -> Iterator[PolicyOutcome]:
    names = options.policies or ("priority", "priority+preemption", "fair_share")
    for name in names:
        rules = parse_policy(name, base)
        if options.gang_patience_s is not None:
            rules = msgspec.structs.replace(rules, gang_patience_s=options.gang_patience_s)
        yield outcome_of(name, simulate(tasks, agents, rules, tick_s=options.tick_s))


def _agents(options: SimulateOptions, default: Sequence[AgentView]) -> list[AgentView]:
    return agents_of(parse_agents(options.agents)) if options.agents else list(default)


def _report(options: SimulateOptions, head: str, lines: Iterable[PolicyOutcome]) -> str:
    report = list(lines)
    if options.json:
        body = {"workload": head, "policies": msgspec.to_builtins(report)}
        return json.dumps(body, indent=2) + "\n"
    rows = [COLUMNS, *(_cells(line) for line in report)]
    widths = [max(len(row[n]) for row in rows) for n in range(len(COLUMNS))]
    table = [
        "  ".join(
            [
                row[0].ljust(widths[0]),
                *(c.rjust(w) for c, w in zip(row[1:], widths[1:], strict=True)),
            ]
        )
        for row in rows
    ]
    return "\n".join([head, "", *table, ""])


def _cells(line: PolicyOutcome) -> tuple[str, ...]:
    return (
        line.policy,
        str(line.tasks),
        str(line.ended),
        *(_span(s) for s in (line.wait_mean_s, line.wait_p50_s, line.wait_p95_s, line.wait_max_s)),
        f"{line.utilisation:.1%}",
        str(line.preemptions),
        _span(line.makespan_s),
    )


def _span(seconds: float) -> str:
    if seconds < 120:
        return f"{seconds:.1f} s"
    if seconds < 7200:
        return f"{seconds / 60:.1f} min"
    return f"{seconds / 3600:.1f} h"


def _instant(text: str) -> datetime | None:
    """An instant as users write it; one without a zone is UTC.

    Raises:
        InvalidArgument: the text is invalid.
    """
    if not text:
        return None
    try:
        instant = datetime.fromisoformat(text)
    except ValueError:
        raise InvalidArgument(
            f"{text!r} is no instant: the form is 2026-01-31T12:00:00Z"
        ) from None
    return instant if instant.tzinfo else instant.replace(tzinfo=UTC)
