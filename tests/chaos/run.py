"""Running one history to its end, and finding the shortest that shows the same violation."""

from __future__ import annotations

import asyncio
import logging
import tempfile
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from random import Random

from tests.chaos import history
from tests.chaos.cluster import Cluster, LogChecks, Violation
from tests.chaos.disturb import Disturber
from tests.chaos.ending import check_end, is_over, left_behind
from tests.chaos.loop import SimLoop, Stalled
from tests.chaos.patches import simulated

MAX_ACTS = 100_000
_LOOK_S = 10.0
END_S = 2 * 3600.0
_SETTLE_S = 1200.0
"""So long after the last experiment something may be left."""
_LOGGERS = ("determined_master", "determined_agent", "asyncio")


@dataclass(frozen=True)
class Result:
    """What came of one history."""

    seed: int
    acts: int
    events: int
    experiments: int
    simulated_s: float
    violations: Sequence[str]
    story: Sequence[str]


Scenario = Callable[[Cluster], Awaitable[int]]
"""Does something to a cluster that has just been started; gives the number of acts."""


def run_seed(seed: int, *, events: int, acts: int = MAX_ACTS, end_s: float = END_S) -> Result:
    """Run the history of a seed until so much has happened, or its first acts are done.

    Args:
        end_s: so long after all is mended an experiment may take.
    """

    async def disturb(cluster: Cluster) -> int:
        return await _disturb(cluster, events, acts)

    return run(seed, disturb, end_s=end_s)


def run(
    seed: int,
    scenario: Scenario,
    shape: history.Shape | None = None,
    *,
    end_s: float = END_S,
) -> Result:
    """Start a cluster, let a scenario loose, mend all, wait for the end and look."""
    loop = SimLoop()
    try:
        with tempfile.TemporaryDirectory(prefix="chaos-", dir=_fast_directory()) as directory:
            made = Cluster(loop, seed, shape or history.shape(seed), Path(directory))
            dice = Random(f"{seed}/dice")
            with (
                simulated(loop.time, dice, made.network.dial, made.connect_database),
                _listening(LogChecks(made.violate, made.tell)),
            ):
                acts = _play(made, scenario, end_s)
                loop.run_until_complete(_switch_off(made))
            return Result(
                seed=seed,
                acts=acts,
                events=made.events + acts,
                experiments=len(made.submitted),
                simulated_s=loop.time() - 1000,
                violations=list(made.violations),
                story=list(made.story),
            )
    finally:
        loop.close()


def shortest(seed: int, *, events: int, acts: int) -> tuple[int, Result]:
    """The fewest acts of a seed that end in a violation, found by halving, and their run.

    Args:
        acts: so many show one: one more than were done, since the time that passes until the
            next one belongs to the history as well.
    """
    low, high, found = 0, acts, run_seed(seed, events=events, acts=acts)
    while low < high and found.violations:
        middle = (low + high) // 2
        tried = run_seed(seed, events=events, acts=middle)
        if tried.violations:
            high, found = middle, tried
        else:
            low = middle + 1
    return high, found


def _play(cluster: Cluster, scenario: Scenario, end_s: float) -> int:
    whole = cluster.loop.create_task(_whole(cluster, scenario, end_s))
    try:
        return cluster.loop.run_until_complete(whole)
    except Stalled as stalled:
        cluster.violate(str(stalled))
        cluster.loop.bury([whole])
        return 0


async def _switch_off(cluster: Cluster) -> None:
    """In the loop: what is unwound asks for the one that runs."""
    cluster.close()


async def _whole(cluster: Cluster, scenario: Scenario, end_s: float) -> int:
    cluster.start_master()
    for machine in cluster.machines:
        machine.start_agent()
    acts = await scenario(cluster)
    try:
        if not cluster.violations:
            await _finish(cluster, end_s)
    except Violation as violation:
        cluster.violate(str(violation))
    return acts


async def _disturb(cluster: Cluster, events: int, most: int) -> int:
    disturber = Disturber(cluster)
    done = 0
    for act in islice(history.acts(cluster.seed), most):
        await asyncio.sleep(act.after_s)
        if cluster.violations or cluster.events + done >= events:
            break
        disturber.do(act)
        done += 1
    return done


async def _finish(cluster: Cluster, end_s: float) -> None:
    """Mend all, let every experiment end, and see what is left."""
    cluster.heal()
    until_s = cluster.loop.time() + end_s
    while not is_over(cluster):
        if cluster.violations:
            return
        if cluster.loop.time() > until_s:
            raise Violation(f"lost: {_open(cluster)} do not come to an end")
        await asyncio.sleep(_LOOK_S)
        cluster.ensure_master()
    until_s = cluster.loop.time() + _SETTLE_S
    while left_behind(cluster) and cluster.loop.time() < until_s:
        await asyncio.sleep(_LOOK_S)
        cluster.ensure_master()
    for what in left_behind(cluster):
        cluster.violate(f"left behind: {what}")
    check_end(cluster)


def _open(cluster: Cluster) -> str:
    rows = cluster.server.tables.table("experiments")
    for id, row in rows.items():
        if row["ended_at"] is None:
            cluster.tell(f"left: {cluster.commits.states['experiment', str(id)]}")
    for state in cluster.commits.open_runs():
        cluster.tell(f"left: {state}")
    for master in cluster.masters:
        for decision in master.pool_loops.decisions():
            cluster.tell(f"{master.process} sees {decision.view.agents}: {decision.plan}")
    names = [
        f"experiment {id} ({row['state']})" for id, row in rows.items() if row["ended_at"] is None
    ]
    return ", ".join(names) or "users' requests"


def _fast_directory() -> str | None:
    """Memory, where the system has a place for files in it."""
    return "/dev/shm" if Path("/dev/shm").is_dir() else None


class _listening:
    """While it lasts, what the program logs goes to one handler and nowhere else."""

    def __init__(self, handler: logging.Handler) -> None:
        self._handler = handler
        self._before: list[tuple[logging.Logger, bool, int]] = []

    def __enter__(self) -> None:
        for name in _LOGGERS:
            logger = logging.getLogger(name)
            self._before.append((logger, logger.propagate, logger.level))
            logger.propagate = False
            logger.setLevel(logging.WARNING)
            logger.addHandler(self._handler)

    def __exit__(self, *error: object) -> None:
        for logger, propagate, level in self._before:
            logger.propagate = propagate
            logger.setLevel(level)
            logger.removeHandler(self._handler)
