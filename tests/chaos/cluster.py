"""The whole cluster of one history: it is made, disturbed, healed and looked at."""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Awaitable, Callable
from pathlib import Path
from random import Random
from typing import Any

from tests.chaos import checkpoint_statements, engine_statements, history, store_statements
from tests.chaos.history import Shape
from tests.chaos.invariants import CommitChecks, MachineChecks
from tests.chaos.loop import PROCESS, SimLoop, SimTask
from tests.chaos.machine import Machine
from tests.chaos.master import Master
from tests.chaos.network import Network
from tests.chaos.schedule_checks import ScheduleChecks
from tests.chaos.server import Server, SimConnection
from tests.chaos.tasks import CALLER, Tasks, Work, ask

from determined_master.pools.loop import PoolDecision
from determined_master.services.experiments.service import Submission

STATEMENTS = (checkpoint_statements, engine_statements, store_statements)
STORY_LINES = 400
USER = "user"


class Violation(Exception):
    """Something that must hold did not."""


class Cluster:
    """Masters, machines, database and network of one history."""

    def __init__(self, loop: SimLoop, seed: int, shape: Shape, directory: Path) -> None:
        self.loop, self.seed, self.shape = loop, seed, shape
        self.story: deque[str] = deque(maxlen=STORY_LINES)
        self.violations: list[str] = []
        self.server = Server(Random(f"{seed}/database"))
        self.server.on_defect = self.violate
        self.network = Network(Random(f"{seed}/network"), self.front)
        self.masters: list[Master] = []
        self.plans: dict[int, history.Plan] = {}
        """By experiment, as far as their submission was answered."""
        self.submitted: list[int] = []
        self.reported: list[Any] = []
        self.saved: list[tuple[str, int, int]] = []
        self.ends: list[tuple[int, str]] = []
        """Experiments whose end was ordered, and how."""
        self.commits = CommitChecks(self.violate, self.tell)
        self.server.tables.on_commit.append(self.commits.committed)
        self.witness = MachineChecks(self.violate, self.tell)
        self.schedules = {
            pool.pool_name: ScheduleChecks(self.violate, is_calm=history.is_calm(seed))
            for pool in shape.settings.resource_pools
        }
        self._random = Random(f"{seed}/cluster")
        self._tasks = Tasks(seed, self.network, self)
        self._users: set[asyncio.Task[Any]] = set()
        self._born = 0
        self.machines = [
            Machine(
                *(loop, Random(f"{seed}/{facts[0]}"), directory, facts),
                *(self.witness, self._tasks.run),
            )
            for facts in shape.machines
        ]

    # What is noted.

    def tell(self, text: str) -> None:
        """A line of the story."""
        self.story.append(f"{self.loop.time() - 1000:9.3f} {text}")

    def violate(self, text: str) -> None:
        """Something that must hold did not."""
        self.tell(f"VIOLATION: {text}")
        self.violations.append(text)

    def strange(self, what: str) -> None:
        """The same, said by a task."""
        self.violate(what)

    def work_of(self, experiment_id: int) -> Work:
        """What trials of an experiment do."""
        row = self.server.tables.table("experiments")[experiment_id]
        number = int(row["name"].removeprefix("e"))
        return history.experiment(self.seed, number, len(self.schedules)).work

    def saved_steps(self, trial_id: int) -> int:
        """Steps of the newest checkpoint, as a container's environment says."""
        rows = self.server.tables.table("checkpoints").values()
        return max((r["steps"] for r in rows if r["trial_id"] == trial_id), default=0)

    def acknowledged(self, kind: str, *facts: Any) -> None:
        """The master has said that something is stored."""
        if kind == "report":
            self.reported.append(facts[0])
        else:
            self.saved.append((facts[0], facts[1], facts[2]))

    @property
    def events(self) -> int:
        """What has happened so far: events that were applied, and frames that have arrived."""
        return self.commits.applied + self.network.frames

    # Masters.

    def front(self) -> Master | None:
        """The master that answers at the cluster's address."""
        alive = [m for m in self.masters if not m.process.is_dead]
        return self._random.choice(alive) if alive else None

    def start_master(self) -> None:
        """Start one more."""
        self._born += 1
        name = f"master-{self._born}"
        self.tell(f"{name} starts")
        self.masters = [m for m in self.masters if not m.process.is_dead]
        settings = self.shape.settings
        self.masters.append(Master(self.loop, self.server, settings, self._decided, name))

    def ensure_master(self) -> None:
        """Start one unless one lives."""
        if all(m.process.is_dead for m in self.masters):
            self.start_master()

    def impossible(self) -> set[int]:
        """Experiments with a request that the agents of its pool could never hold."""
        found: set[int] = set()
        for master in self.masters:
            if master.process.is_dead or not master.engine.is_leader:
                continue
            for decision in master.pool_loops.decisions():
                for wait in decision.plan.waits:
                    known = master.live.find(wait.allocation_id)
                    if wait.code == "impossible" and known and known.request.experiment_id:
                        found.add(known.request.experiment_id)
        return found

    def _decided(self, decision: PoolDecision) -> None:
        self.schedules[decision.view.pool].decided(decision)

    async def connect_database(self, address: Any) -> SimConnection:
        """Stands for the connection that holds the lead."""
        await asyncio.sleep(self.server.latency_s())
        return self.server.connect()

    # Users.

    def use(self, make: Callable[[Master], Awaitable[Any]], then: Any = None) -> None:
        """Let a user ask for something until there is an answer."""
        task = self.loop.create_task(self._use(make, then))
        self._users.add(task)
        task.add_done_callback(self._users.discard)

    async def _use(self, make: Callable[[Master], Awaitable[Any]], then: Any) -> None:
        from determined_master.domain.errors import DetError

        try:
            answer = await ask(self.network, USER, make)
        except DetError as error:
            if error.code in ("internal",):
                self.violate(f"a user was answered {error!r}")
            self.tell(f"a user is refused: {error}")
        except OSError:
            self.violate("a user got no answer for 15 minutes")
        else:
            if then is not None:
                then(answer)

    def submit(self, number: int) -> None:
        """Let a user submit the experiment of that number."""
        import json

        planned = history.experiment(self.seed, number, len(self.schedules))
        submission = Submission(
            config=json.dumps(planned.config),
            activate=planned.activate,
            idempotency_key=f"{self.seed}/{number}",
        )

        def note(answer: tuple[int, Any]) -> None:
            self.plans[answer[0]] = planned
            self.submitted.append(answer[0])
            self.tell(f"experiment {answer[0]} is accepted as e{number}")

        self.use(lambda m: m.experiments.create(CALLER, submission), note)

    def order_end(self, experiment_id: int, how: str) -> None:
        """Let a user cancel or kill an experiment."""

        def note(_: object) -> None:
            self.ends.append((experiment_id, how))

        self.use(lambda m: getattr(m.experiments, how)(CALLER, experiment_id), note)

    @property
    def is_waiting(self) -> bool:
        """Whether a user still waits for an answer."""
        return bool(self._users)

    # Health.

    def heal(self) -> None:
        """Mend all that is broken."""
        self.tell("all is mended")
        self.server.start()
        self.server.lost_answers = 0
        self.server.on_statement = self.network.on_frame = lambda *_: None
        self.network.slow = 1.0
        for machine in self.machines:
            self.network.heal(machine.name)
            if machine.agent is not None:
                machine.agent.go_on()
            machine.start_agent()
        for master in self.masters:
            master.process.go_on()
        self.ensure_master()

    def close(self) -> None:
        """Switch everything off."""
        for master in self.masters:
            master.process.kill()
        for machine in self.machines:
            machine.close()
        self.loop.bury([task for task in self._users if isinstance(task, SimTask)])
        self.loop.close_graves()


class LogChecks(logging.Handler):
    """Takes what the program calls an error for one."""

    def __init__(self, violate: Callable[[str], None], tell: Callable[[str], None]) -> None:
        super().__init__(logging.WARNING)
        self._violate, self._tell = violate, tell

    def emit(self, record: logging.LogRecord) -> None:
        """Note a warning; an error is a violation, unless a database that is away explains it."""
        process = PROCESS.get()
        if process is not None and process.is_dead:
            return  # it is only unwound
        error = record.exc_info[1] if record.exc_info else None
        text = (
            f"{record.name}: {record.getMessage()} {error!r}"
            if error
            else (f"{record.name}: {record.getMessage()} {getattr(record, 'error', '')}")
        )
        self._tell(text)
        if record.levelno >= logging.ERROR and not is_expected(error):
            self._violate(text)


def is_expected(error: BaseException | None) -> bool:
    """Whether it is the database's or the lead's going, or one of many such."""
    import asyncpg

    from determined_master.domain.errors import Unavailable

    if isinstance(error, BaseExceptionGroup):
        return all(is_expected(e) for e in error.exceptions)
    kinds = (OSError, asyncpg.PostgresConnectionError, asyncpg.InterfaceError, Unavailable)
    return isinstance(error, kinds)
