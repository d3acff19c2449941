"""What runs in the containers: training code that reports, saves, leaves, fails and hangs."""

from __future__ import annotations

import asyncio
import uuid
from collections.abc import Awaitable, Callable
from random import Random
from typing import Any, Protocol

import msgspec
from tests.chaos.machine import Container, Machine
from tests.chaos.master import Master, Validation
from tests.chaos.network import Network

from determined_master import clock
from determined_master.domain.access.rules import Caller
from determined_master.domain.errors import DetError, FailedPrecondition, NotFound, Unavailable
from determined_master.services.checkpoints.service import CheckpointReport

CALLER = Caller(user_id=1, username="user", is_admin=True)
_AGAIN_S = 1.0
_KILL_TIMEOUT_S = 900.0
"""A task that cannot reach a master for so long fails, as its HTTP client does."""


class Work(msgspec.Struct, frozen=True, kw_only=True):
    """What each trial of an experiment does."""

    steps: int
    step_s: float
    fails: float = 0.0
    """Chance of an exit with code 1 at each step."""
    hangs: float = 0.0
    """Chance, a run, of not hearing the request to leave."""
    saves_every: int = 2


class Log(Protocol):
    """Where acknowledged facts are noted."""

    def work_of(self, experiment_id: int) -> Work:
        """Of an experiment."""

    def saved_steps(self, trial_id: int) -> int:
        """Steps of the newest checkpoint."""

    def acknowledged(self, kind: str, *facts: Any) -> None:
        """The master has said that something is done."""

    def strange(self, what: str) -> None:
        """Something that must not happen."""


class Tasks:
    """Runs the code of containers."""

    def __init__(self, seed: int, network: Network, log: Log) -> None:
        self._seed, self._network, self._log = seed, network, log

    async def run(self, machine: Machine, container: Container) -> int:
        """One container's program; gives its exit code."""
        environment = container.start.spec.environment
        random = Random(f"{self._seed}/{environment['ALLOCATION']}/{environment['RANK']}")
        if container.start.spec.task_type == "CHECKPOINT_GC":
            await asyncio.sleep(random.random())
            return 0
        run = _Run(machine.name, container, random, self._network, self._log)
        try:
            return await run.train()
        except (OSError, NotFound, FailedPrecondition):
            return 1  # an exception of user code
        except Exception as error:
            self._log.strange(f"a task was answered {error!r}")
            return 1


class _Run:
    """One rank of one run of one trial."""

    def __init__(
        self, place: str, container: Container, random: Random, network: Network, log: Log
    ) -> None:
        environment = container.start.spec.environment
        self.allocation_id = environment["ALLOCATION"]
        self.trial_id = int(environment["TRIAL"])
        self.run_id = int(self.allocation_id.rpartition(".")[2])
        self.is_chief = environment["RANK"] == "0"
        self.work = log.work_of(int(environment["EXPERIMENT"]))
        self.place, self.container, self.random = place, container, random
        self.network, self.log = network, log

    async def train(self) -> int:
        """From the newest checkpoint to the last step, or until it is asked to leave."""
        await asyncio.sleep(0.5 * self.random.random())
        work = self.work
        await self._ask(
            lambda m: m.allocations.rendezvous(CALLER, self.allocation_id, self.container.id)
        )
        is_deaf = self.random.random() < work.hangs
        done = self.log.saved_steps(self.trial_id)
        while done < work.steps:
            await asyncio.sleep(work.step_s * (0.5 + self.random.random()))
            done += 1
            if self.random.random() < work.fails:
                return 1
            if self.is_chief:
                await self._report(done)
            if not is_deaf and await self._should_leave():
                await self._leave(done)
                return 0
        return 0

    async def _report(self, done: int) -> None:
        """A step's validation, and a checkpoint now and then."""
        metric = self.random.random()
        validation = Validation(self.trial_id, self.run_id, done, metric)
        await self._ask(lambda m: m.report(validation))
        self.log.acknowledged("report", validation)
        if done % self.work.saves_every == 0 or done == self.work.steps:
            await self._save(done)

    async def _save(self, done: int) -> None:
        report = CheckpointReport(
            uuid=str(uuid.UUID(int=self.random.getrandbits(128), version=4)),
            task_id=self.container.start.spec.task_id,
            allocation_id=self.allocation_id,
            state="COMPLETED",
            reported_at=clock.now(),
            resources={"weights": 1},
            metadata={"steps_completed": done},
            storage_id=None,
        )
        await self._ask(lambda m: m.checkpoints.report(CALLER, report))
        self.log.acknowledged("checkpoint", report.uuid, self.trial_id, done)

    async def _should_leave(self) -> bool:
        answer: bool = await self._ask(
            lambda m: m.allocations.preemption_signal(CALLER, self.allocation_id, 0)
        )
        return answer

    async def _leave(self, done: int) -> None:
        if self.is_chief:
            await self._save(done)
        await self._ask(lambda m: m.allocations.acknowledge_preemption(CALLER, self.allocation_id))

    async def _ask(self, make: Callable[[Master], Awaitable[Any]]) -> Any:
        return await ask(self.network, self.place, make)


async def ask(network: Network, place: str, make: Callable[[Master], Awaitable[Any]]) -> Any:
    """Ask the master until it answers.

    Raises:
        DetError: what it answered. OSError: nothing, for too long.
    """
    loop = asyncio.get_running_loop()
    until_s = loop.time() + _KILL_TIMEOUT_S
    while True:
        try:
            return await network.request(place, make)
        except (OSError, TimeoutError, Unavailable) as error:
            if loop.time() > until_s:
                raise ConnectionError(f"no answer from {place}: {error!r}") from error
        except DetError:
            raise
        await asyncio.sleep(_AGAIN_S * (0.5 + _jitter(loop.time())))


def _jitter(now_s: float) -> float:
    """Spreads tries without a die that others use."""
    return (now_s * 7919.0) % 1.0
