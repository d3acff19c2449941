"""Histories: endless streams of what users do and what breaks, each from a seed alone."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random
from typing import Any

import msgspec
from tests.chaos.tasks import Work

from determined_master.settings.master import Settings
from determined_master.settings.pools import ResourceManager, ResourcePool, Scheduler

_BY_USERS: dict[str, float] = {
    "submit": 24,
    "pause": 4,
    "activate": 8,
    "cancel": 2,
    "kill": 3,
    "kill_trial": 2,
    "priority": 6,
    "weight": 3,
    "move": 2,
}
_FAULTS: dict[str, float] = {
    "kill_master": 5,
    "stop_master": 1.5,
    "standby": 1,
    "kill_agent": 5,
    "stop_agent": 1.5,
    "reboot": 2,
    "switch": 4,
    "switch_slot": 2,
    "cut": 6,
    "reset": 5,
    "slow": 2,
    "restart_database": 2,
    "cut_database": 3,
    "lose_answers": 3,
}
_PAUSES_S = (0.0, 0.01, 0.2, 1.0, 3.0, 8.0)
_LENGTHS_S = (0.2, 3.0, 15.0, 40.0, 90.0)
"""A cut is shorter than any patience, longer than a heartbeat, or longer than an agent's wait."""


class Act(msgspec.Struct, frozen=True):
    """One thing that is done to the cluster."""

    number: int
    after_s: float
    kind: str
    which: int
    """Chooses what it is done to, among what there is then."""
    amount: int
    seconds: float

    def __str__(self) -> str:
        return f"{self.number} {self.kind} which={self.which % 1000} for={self.seconds:g}s"


def is_calm(seed: int) -> bool:
    """Whether nothing breaks: then nobody may wait for longer than the rules say."""
    return seed % 8 == 7


def acts(seed: int) -> Iterator[Act]:
    """The acts of a seed, without an end."""
    random = Random(f"{seed}/acts")
    chances = _BY_USERS if is_calm(seed) else {**_BY_USERS, **_FAULTS}
    kinds, weights = list(chances), list(chances.values())
    number = 0
    while True:
        number += 1
        yield Act(
            number=number,
            after_s=random.choice(_PAUSES_S) * random.random(),
            kind=random.choices(kinds, weights)[0],
            which=random.getrandbits(30),
            amount=random.getrandbits(30),
            seconds=random.choice(_LENGTHS_S) * (0.5 + random.random()),
        )


class Shape(msgspec.Struct, frozen=True):
    """What cluster a history happens to."""

    settings: Settings
    machines: tuple[tuple[str, str, int], ...]
    """Agent, pool and slots."""
    gang_patience_s: float


def shape(seed: int) -> Shape:
    """The cluster of a seed."""
    random = Random(f"{seed}/shape")
    launch_retry_s = random.choice((30.0, 120.0))
    pools = []
    machines = []
    for pool in ("default", "other")[: random.choice((1, 1, 2))]:
        scheduler = Scheduler(
            type=random.choice(("priority", "priority", "fair_share")),
            fitting_policy=random.choice(("best", "worst")),
            preemption=random.random() < 0.6,
            gang_patience_s=launch_retry_s,
            allow_heterogeneous_fits=random.random() < 0.3,
        )
        pools.append(ResourcePool(pool_name=pool, scheduler=scheduler))
        width = random.choice((1, 2, 4))
        for number in range(random.randint(2, 4)):
            slots = width if random.random() < 0.8 else random.choice((1, 2, 4))
            machines.append((f"{pool}-{number}", pool, slots))
    manager = ResourceManager()
    settings = Settings(
        resource_pools=tuple(pools), resource_manager=manager, launch_error=random.random() < 0.5
    )
    return Shape(settings, tuple(machines), launch_retry_s)


class Plan(msgspec.Struct, frozen=True):
    """One experiment to submit."""

    config: dict[str, Any]
    work: Work
    activate: bool


def experiment(seed: int, number: int, pools: int) -> Plan:
    """The experiment of that number."""
    random = Random(f"{seed}/experiment/{number}")
    steps = random.randint(1, 10)
    searcher: dict[str, Any] = {"metric": "loss", "name": "single"}
    space: dict[str, Any] = {"rate": {"type": "double", "minval": 0, "maxval": 1}}
    kind = random.choice(("single", "single", "random", "grid", "adaptive_asha"))
    if kind == "random":
        searcher |= {
            "name": "random",
            "max_trials": random.randint(2, 5),
            "max_concurrent_trials": random.randint(1, 4),
        }
    elif kind == "grid":
        searcher["name"] = "grid"
        space = {"rate": {"type": "categorical", "vals": list(range(random.randint(1, 4)))}}
    elif kind == "adaptive_asha":
        searcher |= {
            "name": "adaptive_asha",
            "max_trials": random.randint(3, 8),
            "time_metric": "batches",
            "max_time": max(steps, 4),
            "divisor": 2,
            "max_rungs": 3,
        }
    resources: dict[str, Any] = {
        "slots_per_trial": random.choice((1, 1, 1, 2, 2, 4, 8)),
        "priority": random.choice((10, 42, 42, 42, 90)),
        "weight": random.choice((1, 1, 2, 5)),
        "resource_pool": random.choice(("default", "other")[:pools]),
    }
    if random.random() < 0.15:
        resources["max_slots"] = random.randint(1, 4)
    if random.random() < 0.1:
        resources["is_single_node"] = True
    config = {
        "name": f"e{number}",
        "entrypoint": "train",
        "searcher": searcher,
        "hyperparameters": space,
        "resources": resources,
        "max_restarts": random.randint(0, 3),
        "preemption_timeout": random.choice((5, 20, 60)),
        "reproducibility": {"experiment_seed": random.randrange(2**31)},
    }
    work = Work(
        steps=max(steps, 4) if kind == "adaptive_asha" else steps,
        step_s=random.choice((0.1, 0.5, 2.0, 6.0)),
        fails=random.choice((0.0, 0.0, 0.02, 0.2)),
        hangs=random.choice((0.0, 0.0, 0.1, 0.5)),
        saves_every=random.randint(1, 4),
    )
    return Plan(config, work, activate=random.random() < 0.9)
