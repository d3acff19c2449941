"""Validations a second of one adaptive ASHA search, each committed with all that follows from it.

64 callers report the validations of a search's trials, four a trial, one after the other, each
waiting for its answer: the metric's row, the trial's best and latest, the search's decision with
its rows, the journal and the effects have committed then. Effects are handed out and closed; what
the cluster would do for them (making a trial, stopping one) is not done: the rows of all trials
are there before. A trial that was stopped still reports, as one does that is on its way out.

Afterwards the journal is replayed in memory: the stored state and rows must be what comes out.

    python -m bench.search_events [--trials 10000]
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import random
import statistics
import sys
import tempfile
import time
from collections import deque
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import psutil
import uvloop

from determined_master.aggregates import KINDS
from determined_master.aggregates.experiments import EXPERIMENT
from determined_master.domain.access.rules import Caller
from determined_master.domain.config.experiment import ConfigLayers, build_experiment
from determined_master.domain.experiment import machine
from determined_master.domain.experiment import messages as exp
from determined_master.domain.ids import ExperimentId
from determined_master.domain.search.decision import Create
from determined_master.domain.search.memory import SearchMemory
from determined_master.domain.search.method import SearchContext, SearchMethod, build
from determined_master.domain.search.records import BracketMember, RungEntry
from determined_master.domain.search.sampling import draw_trial
from determined_master.domain.search.stream import Stream
from determined_master.engine import EffectContext, Engine
from determined_master.engine.causes import OnlyOnce
from determined_master.engine.kind import encode
from determined_master.server.garbage import tune_garbage_collector
from determined_master.services.experiments.detached import Detached
from determined_master.services.metrics.flush import Flusher
from determined_master.services.metrics.reports import MetricReport
from determined_master.services.metrics.service import Metrics
from determined_master.services.metrics.system_metrics import SystemMetrics
from determined_master.store.db import Address, Database, embedded_address, open_database
from determined_master.store.embedded.files import Layout
from determined_master.store.embedded.server import EmbeddedServer
from determined_master.store.experiments import experiments, searches
from determined_master.store.migrate import migrate

CALLERS = 64
REPORTED_AT = (4, 16, 64, 256)
AT = datetime(2026, 1, 1, tzinfo=UTC)
SEED = 42
ADMIN = Caller(user_id=1, username="admin", is_admin=True)
FILL = 1000
SUBMITTED: dict[str, Any] = {
    "name": "search",
    "entrypoint": "python3 train.py",
    "hyperparameters": {
        "lr": {"type": "log", "base": 10, "minval": -5, "maxval": -1},
        "layers": {"type": "int", "minval": 1, "maxval": 8},
        "dropout": {"type": "double", "minval": 0, "maxval": 0.7},
    },
    "searcher": {
        "name": "adaptive_asha",
        "metric": "loss",
        "time_metric": "batches",
        "max_time": REPORTED_AT[-1],
        "max_concurrent_trials": 500,
    },
    "checkpoint_storage": {"type": "shared_fs", "host_path": "/tmp"},
    "resources": {"resource_pool": "default"},
}
_ACCOUNTS = (
    "INSERT INTO users (username, active, modified_at) VALUES ('admin', true, now())",
    "INSERT INTO workspaces (name, user_id) VALUES ('w', 1)",
    "INSERT INTO projects (workspace_id, name, key, user_id) VALUES (1, 'p', 'P', 1)",
)
_TRIALS = """
    INSERT INTO trials (id, experiment_id, request_id, task_id, state, hparams, seed, run_id,
                        started_at)
    SELECT n.id, 1, n.request_id, '1.' || n.request_id, 'ACTIVE', n.hparams::jsonb, n.seed, 1, $5
      FROM unnest($1::int[], $2::uuid[], $3::text[], $4::bigint[])
           AS n (id, request_id, hparams, seed)
"""


class Load:
    """The search's trials, and callers that report for them."""

    def __init__(self, metrics: Metrics, trials: list[Create]) -> None:
        self._metrics = metrics
        self._ids = {create.request_id: n for n, create in enumerate(trials, start=1)}
        self._wanted: deque[str] = deque()
        self._news = asyncio.Event()
        self._left = len(trials)
        self._draw = random.Random(SEED)
        self.latencies_s: list[float] = []
        self.growths = 0

    async def create_trial(self, effect: exp.CreateTrial, context: EffectContext) -> None:
        """The handler: a trial of the search may report from now on."""
        self._wanted.append(effect.request_id)
        self._news.set()

    async def grow_search(self, effect: exp.GrowSearch, context: EffectContext) -> None:
        """The handler: no trial waits for slots, so that the search creates the next at once."""
        await context.post(EXPERIMENT, ExperimentId(1), exp.SearchGrown())
        self.growths += 1

    async def stop_trial(self, effect: exp.StopTrial, context: EffectContext) -> None:
        """The handler: nothing is there to be stopped."""

    async def run(self) -> float:
        """Report everything; how long that took, in seconds."""
        since = time.perf_counter()
        async with asyncio.TaskGroup() as callers:
            for _ in range(CALLERS):
                callers.create_task(self._call())
        return time.perf_counter() - since

    async def _call(self) -> None:
        while self._left:
            if not self._wanted:
                self._news.clear()
                await self._news.wait()
                continue
            self._left -= 1
            await self._train(self._ids[self._wanted.popleft()])
        self._news.set()

    async def _train(self, trial_id: int) -> None:
        for batches in REPORTED_AT:
            loss = self._draw.random()
            report = MetricReport(
                trial_id=trial_id,
                run_id=1,
                group="validation",
                steps=batches,
                reported_at=AT,
                metrics={"loss": loss, "accuracy": 1 - loss, "batches": batches},
            )
            since = time.perf_counter()
            await self._metrics.report(ADMIN, report)
            self.latencies_s.append(time.perf_counter() - since)


async def measure(trials: int) -> None:
    """Run against a durable server in a directory of its own; prints a JSON object."""
    with tempfile.TemporaryDirectory(prefix="det-bench-", dir="/tmp") as directory:
        os.chmod(directory, 0o711)
        server = EmbeddedServer(Layout(Path(directory) / "postgres"))
        await server.start()
        try:
            address = embedded_address(server.connection_options)
            pool = await open_database(address)
            try:
                assert server.pid is not None
                await _measure(address, pool, trials, server.pid)
            finally:
                await pool.close()
        finally:
            await server.stop()


async def _measure(address: Address, db: Database, trials: int, server_pid: int) -> None:
    async with db.acquire() as conn:
        await migrate(conn)
    submitted = {**SUBMITTED, "searcher": {**SUBMITTED["searcher"], "max_trials": trials}}
    built = build_experiment(submitted, layers=ConfigLayers(), seed=SEED, name="search")
    stream = Stream(built.typed.seed)
    drawn = [draw_trial(stream, built.typed.hyperparameters) for _ in range(trials)]
    await _fill(db, built.config, drawn)

    engine = Engine(address, db, KINDS)
    flusher = Flusher(db)
    note_report = Detached(engine, db).note_report
    metrics = Metrics(engine, db, flusher, SystemMetrics(db), note_report)
    load = Load(metrics, drawn)
    engine.handlers.register(exp.CreateTrial, load.create_trial)
    engine.handlers.register(exp.GrowSearch, load.grow_search)
    engine.handlers.register(exp.StopTrial, load.stop_trial)
    async with engine:
        await engine.wait_until_leading()
        flushing = asyncio.create_task(flusher.run())
        created = exp.ExperimentCreated(experiment_id=1, activate=True)
        await engine.post(EXPERIMENT, ExperimentId(1), created, cause=OnlyOnce("created"))
        tune_garbage_collector()  # as the master does
        cpu_s, server_cpu_s = time.process_time(), _cpu_s(server_pid)
        seconds = await load.run()
        cpu_s = time.process_time() - cpu_s
        server_cpu_s = _cpu_s(server_pid) - server_cpu_s
        await _wait_for_effects(db)
        flushing.cancel()
        await asyncio.gather(flushing, return_exceptions=True)
    typed = built.typed
    method = build(typed.searcher, typed.hyperparameters, typed.seed)
    events = trials * len(REPORTED_AT)
    await _check(db, method, events, load.growths)
    quantiles = statistics.quantiles(load.latencies_s, n=100)
    line = {
        "name": "search_events",
        "value": round(events / seconds, 1),
        "unit": "1/s",
        "trials": trials,
        "p50_ms": round(quantiles[49] * 1e3, 1),
        "p99_ms": round(quantiles[98] * 1e3, 1),
        "cpu_us": round(cpu_s / events * 1e6),
        "postgres_cpu_us": round(server_cpu_s / events * 1e6),
    }
    print(json.dumps(line), flush=True)


async def _fill(db: Database, config: dict[str, Any], drawn: list[Create]) -> None:
    """Rows of the experiment and of all trials that its search will create."""
    searcher = config["searcher"]
    new = experiments.NewExperiment(
        id=1,
        job_id="00000000-0000-4000-8000-000000000001",
        user_id=1,
        workspace_id=1,
        project_id=1,
        name="search",
        description="",
        labels=[],
        config=config,
        original_config="",
        seed=SEED,
        searcher_type=searcher["name"],
        searcher_metric=searcher["metric"],
        smaller_is_better=True,
        resource_pool="default",
        model_digest=None,
        model_size=0,
        started_at=AT,
    )
    async with db.acquire() as conn:
        for statement in _ACCOUNTS:
            await conn.execute(statement)
        await experiments.insert_experiment(conn, new)
        for start in range(0, len(drawn), FILL):
            some = drawn[start : start + FILL]
            await conn.execute(
                _TRIALS,
                list(range(start + 1, start + 1 + len(some))),
                [create.request_id for create in some],
                [json.dumps(create.hparams) for create in some],
                [create.seed for create in some],
                AT,
            )
        await conn.execute("VACUUM ANALYZE")


def _cpu_s(pid: int) -> float:
    """Of a server and the processes it has now."""
    server = psutil.Process(pid)
    times = [process.cpu_times() for process in (server, *server.children(recursive=True))]
    return float(sum(time.user + time.system for time in times))


async def _wait_for_effects(db: Database) -> None:
    async with asyncio.timeout(60):
        # The rows are the only sign that all are closed.
        while await db.fetchval("SELECT count(*) FROM outbox"):  # noqa: ASYNC110
            await asyncio.sleep(0.01)


async def _check(db: Database, method: SearchMethod, events: int, growths: int) -> None:
    """Compare what is stored with a replay of the journal in memory."""
    context = SearchContext(method, SearchMemory())
    state: exp.Experiment | None = None
    async with db.acquire() as conn:
        told = await conn.fetch("SELECT event FROM journal ORDER BY version")
        for row in told:
            state, produced = machine.step(state, EXPERIMENT.codec.event(row["event"]), context)
            for record in produced:
                if isinstance(record, RungEntry | BracketMember):
                    context.memory.apply(record)
        stored = SearchMemory.rebuild(
            await searches.list_bracket_members(conn, 1), await searches.list_rung_entries(conn, 1)
        )
        state_text = await conn.fetchval("SELECT state FROM aggregates")
        rows = await conn.fetchval("SELECT count(*) FROM metrics")
    found = {
        "state": state_text == encode(state),
        "rungs": stored == context.memory,
        "events": len(told) == events + growths + 1,
        "metrics": rows == events,
    }
    wrong = [name for name, is_right in found.items() if not is_right]
    if wrong:
        sys.exit(f"what is stored differs from the replay in: {', '.join(wrong)}")


def main() -> None:
    """Parse the flags and measure."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--trials", type=int, default=10_000)
    uvloop.run(measure(parser.parse_args().trials))  # as the master does


if __name__ == "__main__":
    main()
