"""Doing the acts of a history to a cluster."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any

from tests.chaos import history
from tests.chaos.cluster import Cluster
from tests.chaos.history import Act
from tests.chaos.loop import Process
from tests.chaos.tasks import CALLER

from determined_master import entropy
from determined_master.aggregates.trials import TRIAL
from determined_master.domain.trial.messages import TrialKilled

_MAX_LIVE = 12
"""More experiments that are not over are not submitted at a time."""
_TERMINAL = ("COMPLETED", "CANCELED", "ERROR")
_STATEMENTS = 60
"""A master is killed at one of its next so many statements."""
_FRAMES = 12


class Disturber:
    """Carries acts out."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._submitted = 0

    def do(self, act: Act) -> None:
        """Do one act; one that makes no sense now does nothing."""
        self._cluster.tell(f"ACT {act}")
        getattr(self, f"_{act.kind}")(act)

    # Users.

    def _submit(self, act: Act) -> None:
        rows = self._cluster.server.tables.table("experiments").values()
        if sum(row["state"] not in _TERMINAL for row in rows) < _MAX_LIVE:
            self._submitted += 1
            self._cluster.submit(self._submitted)

    def _pause(self, act: Act) -> None:
        self._steer(act, "pause")

    def _activate(self, act: Act) -> None:
        self._steer(act, "activate")

    def _cancel(self, act: Act) -> None:
        self._end(act, "cancel")

    def _kill(self, act: Act) -> None:
        self._end(act, "kill")

    def _steer(self, act: Act, verb: str) -> None:
        id = self._live_experiment(act)
        if id is not None:
            self._cluster.use(lambda m: getattr(m.experiments, verb)(CALLER, id))

    def _end(self, act: Act, how: str) -> None:
        id = self._live_experiment(act)
        if id is not None:
            self._cluster.order_end(id, how)

    def _kill_trial(self, act: Act) -> None:
        trials = self._cluster.server.tables.table("trials")
        live = [id for id, row in trials.items() if row["ended_at"] is None]
        if live:
            id = live[act.which % len(live)]
            self._cluster.use(
                lambda m: m.engine.post(
                    TRIAL, str(id), TrialKilled(), cause=f"request:{entropy.new_uuid()}"
                )
            )

    def _priority(self, act: Act) -> None:
        self._change(act, priority=(10, 42, 90)[act.amount % 3])

    def _weight(self, act: Act) -> None:
        self._change(act, weight=1 + act.amount % 5)

    def _move(self, act: Act) -> None:
        pools = list(self._cluster.schedules)
        self._change(act, pool=pools[act.amount % len(pools)])

    def _change(self, act: Act, **what: Any) -> None:
        id = self._live_experiment(act)
        if id is not None:
            self._cluster.use(lambda m: m.change_place(id, **what))

    def _live_experiment(self, act: Act) -> int | None:
        rows = self._cluster.server.tables.table("experiments")
        live = [id for id, row in rows.items() if row["state"] not in _TERMINAL]
        return live[act.which % len(live)] if live else None

    # Masters.

    def _kill_master(self, act: Act) -> None:
        """At one of its next statements, before or after that is carried out."""
        countdown = act.which % _STATEMENTS
        is_after = bool(act.amount % 2)
        cluster = self._cluster

        def look(process: Process, sender: str, has_run: bool) -> None:
            nonlocal countdown
            countdown -= has_run == is_after
            if countdown < 0 and not process.is_dead:
                cluster.tell(f"{process} is killed {'after' if has_run else 'before'} {sender}")
                cluster.server.on_statement = lambda *_: None
                process.kill()
                cluster.loop.later(act.seconds % 20, cluster.ensure_master)

        cluster.server.on_statement = look

    def _stop_master(self, act: Act) -> None:
        alive = [m.process for m in self._cluster.masters if not m.process.is_dead]
        if alive:
            process = alive[act.which % len(alive)]
            self._stand_still(process, act.seconds)
            self._cluster.network.suspect(process)

    def _standby(self, act: Act) -> None:
        if sum(not m.process.is_dead for m in self._cluster.masters) < 2:
            self._cluster.start_master()

    # Machines.

    def _kill_agent(self, act: Act) -> None:
        """At one of its next frames."""
        machine = self._machine(act)
        countdown = act.amount % _FRAMES
        cluster = self._cluster

        def look(process: Process, way: str, has_arrived: bool) -> None:
            nonlocal countdown
            if process is not machine.agent:
                return
            countdown -= 1
            if countdown < 0:
                cluster.tell(f"agent {process} is killed at a frame that is {way}")
                cluster.network.on_frame = lambda *_: None
                machine.kill_agent()
                cluster.loop.later(act.seconds, machine.start_agent)

        cluster.network.on_frame = look

    def _stop_agent(self, act: Act) -> None:
        agent = self._machine(act).agent
        if agent is not None:
            self._stand_still(agent, act.seconds)

    def _reboot(self, act: Act) -> None:
        machine = self._machine(act)
        machine.reboot()
        self._cluster.loop.later(act.seconds, machine.start_agent)

    def _switch(self, act: Act) -> None:
        name = self._machine(act).name
        kind = act.amount % 4
        if kind > 1:
            self._cluster.use(lambda m: m.switches.enable_agent(CALLER, name))
        else:
            drain = kind == 0
            self._cluster.use(lambda m: m.switches.disable_agent(CALLER, name, drain=drain))

    def _switch_slot(self, act: Act) -> None:
        machine = self._machine(act)
        name, slot = machine.name, str(act.amount % machine.slots)
        if act.amount % 3:
            self._cluster.use(lambda m: m.switches.enable_slot(CALLER, name, slot))
        else:
            drain = bool(act.which % 2)
            self._cluster.use(lambda m: m.switches.disable_slot(CALLER, name, slot, drain=drain))

    # Network and database.

    def _cut(self, act: Act) -> None:
        network, name = self._cluster.network, self._machine(act).name
        network.cut(name)
        self._cluster.loop.later(act.seconds, network.heal, name)

    def _reset(self, act: Act) -> None:
        self._cluster.network.reset(self._machine(act).name)

    def _slow(self, act: Act) -> None:
        self._cluster.network.slow = (1.0, 10.0, 100.0)[act.amount % 3]

    def _restart_database(self, act: Act) -> None:
        self._cluster.server.stop()
        self._cluster.loop.later(act.seconds / 3, self._cluster.server.start)

    def _cut_database(self, act: Act) -> None:
        alive = [m.process for m in self._cluster.masters if not m.process.is_dead]
        if alive:
            self._cluster.server.cut_all(alive[act.which % len(alive)])

    def _lose_answers(self, act: Act) -> None:
        self._cluster.server.lost_answers += 1 + act.amount % 2

    def _machine(self, act: Act) -> Any:
        machines = self._cluster.machines
        return machines[act.which % len(machines)]

    def _stand_still(self, process: Process, seconds: float) -> None:
        process.stop()
        self._cluster.tell(f"{process} stands still")

        def go_on() -> None:
            self._cluster.tell(f"{process} continues")
            process.go_on()

        self._cluster.loop.later(seconds, go_on)


Do = Callable[[Cluster, Random], None]
__all__ = ["Disturber", "history"]
