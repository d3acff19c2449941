"""One small history again and again, its victim killed at another instant each time."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from typing import Literal, get_args

from tests.chaos import history
from tests.chaos.cluster import Cluster
from tests.chaos.loop import Process
from tests.chaos.run import END_S, Result, run
from tests.chaos.tasks import CALLER

Victim = Literal["master", "agent", "machine", "database", "link"]
VICTIMS: tuple[Victim, ...] = get_args(Victim)
SEED = 1
_BACK_S = 7.0
"""Until what was killed is there again."""
_EXPERIMENTS = 3
_LONG_S = 600.0


def kill_instants(
    victim: Victim, count: int, *, end_s: float = END_S
) -> Iterator[tuple[int, Result]]:
    """Kill it at `count` instants, spread evenly over the history; the instant and the result."""
    steps = _Steps(victim, None)
    run(SEED, steps.play, _shape(), end_s=end_s)
    for number in range(count):
        at = (2 * number + 1) * steps.taken // (2 * count)
        yield at, run(SEED, _Steps(victim, at).play, _shape(), end_s=end_s)


class _Steps:
    """Counts what a victim does, and kills it at one step."""

    def __init__(self, victim: Victim, at: int | None) -> None:
        self.taken = 0
        self._victim, self._at = victim, at
        self._is_over = False

    async def play(self, cluster: Cluster) -> int:
        """The history: some experiments, one of them paused and let continue, one killed."""
        if self._victim in ("master", "database"):
            cluster.server.on_statement = self._counter(cluster)
        else:
            cluster.network.on_frame = self._counter(cluster)
        for number in range(1, _EXPERIMENTS + 1):
            cluster.submit(number)
        await asyncio.sleep(4.0)
        for verb, id in (("pause", 1), ("activate", 1), ("kill", 2)):
            if id in cluster.server.tables.table("experiments"):
                cluster.use(lambda m, verb=verb, id=id: getattr(m.experiments, verb)(CALLER, id))
            await asyncio.sleep(2.0)
        until_s = cluster.loop.time() + _LONG_S
        while cluster.loop.time() < until_s and not self._has_ended(cluster):  # noqa: ASYNC110
            await asyncio.sleep(1.0)
        self._is_over = True
        return 1

    def _has_ended(self, cluster: Cluster) -> bool:
        rows = cluster.server.tables.table("experiments").values()
        return len(rows) == _EXPERIMENTS and all(row["ended_at"] for row in rows)

    def _counter(self, cluster: Cluster) -> Callable[[Process, str, bool], None]:
        def look(process: Process, what: str, is_after: bool) -> None:
            if self._is_over or self._is_other(cluster, process):
                return
            self.taken += 1
            if self.taken - 1 == self._at:
                cluster.tell(f"{self._victim} is hit at step {self._at}: {what}, {is_after}")
                self._hit(cluster, process)

        return look

    def _is_other(self, cluster: Cluster, process: Process) -> bool:
        is_master = any(m.process is process for m in cluster.masters)
        if self._victim in ("master", "database"):
            return not is_master
        return process is not cluster.machines[0].agent

    def _hit(self, cluster: Cluster, process: Process) -> None:
        later, machine = cluster.loop.later, cluster.machines[0]
        match self._victim:
            case "master":
                process.kill()
                later(_BACK_S, cluster.ensure_master)
            case "database":
                later(0.0, cluster.server.stop)
                later(_BACK_S, cluster.server.start)
            case "agent":
                machine.kill_agent()
                later(_BACK_S, machine.start_agent)
            case "machine":
                later(0.0, machine.reboot)
                later(_BACK_S, machine.start_agent)
            case "link":
                later(0.0, cluster.network.reset, machine.name)


def _shape() -> history.Shape:
    made = history.shape(SEED)
    machines = (("default-0", "default", 2), ("default-1", "default", 2))
    return history.Shape(made.settings, machines, made.gang_patience_s)
