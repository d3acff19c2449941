"""A process to be killed: tells one search a fixed list of events, each under its own cause.

    python -m tests.engine.search_victim HOST PASSWORD DATABASE SEED MAX

Started again, it tells all of them again; what was told before changes nothing. After the first
MAX of them it waits to be killed; 0 stands for all.
"""

from __future__ import annotations

import asyncio
import random
import sys
from collections.abc import Sequence

from determined_master.aggregates import KINDS
from determined_master.aggregates.experiments import EXPERIMENT
from determined_master.domain.config.experiment import ConfigLayers, build_experiment
from determined_master.domain.experiment import messages as exp
from determined_master.domain.search.method import build
from determined_master.domain.search.simulate import SearchRun
from determined_master.engine import Engine
from determined_master.store.db import Address, open_database

CONFIG = build_experiment(
    {
        "name": "search",
        "entrypoint": "python3 train.py",
        "hyperparameters": {
            "lr": {"type": "log", "base": 10, "minval": -5, "maxval": -1},
            "layers": {"type": "int", "minval": 1, "maxval": 8},
        },
        "searcher": {
            "name": "adaptive_asha",
            "metric": "loss",
            "time_metric": "batches",
            "max_time": 64,
            "max_trials": 40,
            "max_concurrent_trials": 8,
        },
        "checkpoint_storage": {"type": "shared_fs", "host_path": "/tmp"},
        "resources": {"resource_pool": "default"},
    },
    layers=ConfigLayers(),
    seed=7,
    name="search",
)
CREATED = exp.ExperimentCreated(experiment_id=1, activate=True)


def events(seed: int) -> Sequence[exp.ExperimentEvent]:
    """A whole search: trials report and end in an order that the seed draws."""
    typed = CONFIG.typed
    run = SearchRun(build(typed.searcher, typed.hyperparameters, typed.seed))
    run.start()
    draw = random.Random(seed)
    told: list[exp.ExperimentEvent] = [CREATED]
    while run.open_trials:
        id = draw.choice(run.open_trials[:8])
        trial = run.trials[id]
        if trial.was_stopped or draw.random() < 0.1:
            end = "clean" if trial.was_stopped else draw.choice(("errored", "invalid_hp", "clean"))
            run.end(id, end)
            told.append(exp.TrialEnded(request_id=id, end=end))
        else:
            metric, time = draw.random(), float(4 ** (trial.reports % 4))
            run.validate(id, metric, time)
            told.append(exp.ValidationReported(request_id=id, metric=metric, time=time))
    return told


async def tell(engine: Engine, told: Sequence[exp.ExperimentEvent]) -> None:
    """Post the events in their order."""
    for n, event in enumerate(told):
        await engine.post(EXPERIMENT, "1", event, cause=f"told:{n}")


def search_engine(address: Address, pool) -> Engine:
    """An engine that carries out nothing of what the search orders."""
    engine = Engine(address, pool, KINDS)

    async def ignore(effect, context):
        pass

    for effect in (exp.CreateTrial, exp.StopTrial, exp.CloseExperiment, exp.StartGc):
        engine.handlers.register(effect, ignore)
    return engine


async def main() -> None:
    host, password, database, seed, most = sys.argv[1:]
    address = Address(host, 5432, "determined", password, database)
    pool = await open_database(address, min_size=1, max_size=5)
    async with search_engine(address, pool) as engine:
        await engine.wait_until_leading()
        await tell(engine, events(int(seed))[: int(most) or None])
        if int(most):
            await asyncio.Event().wait()
    await pool.close()


if __name__ == "__main__":
    asyncio.run(main())
