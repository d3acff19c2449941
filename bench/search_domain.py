"""Decisions a second of the search methods alone: no engine, no database.

Each line is one JSON object. A trial reports up to four validations; time is the decision and
the applying of its records to the memory.
"""

from __future__ import annotations

import json
import random
import sys
from collections import deque
from time import perf_counter
from typing import Any

import msgspec

from determined_master.domain.config.sections.hyperparameters import (
    Categorical,
    Double,
    HyperparameterSpace,
    Int,
    LogScale,
)
from determined_master.domain.config.sections.searcher import AdaptiveAsha, Random, SearcherConfig
from determined_master.domain.search.method import Create, SearchDecision, SearchMemory, build
from determined_master.domain.search.records import BracketMember, RungEntry
from determined_master.domain.search.simulate import SearchRun

SPACE: HyperparameterSpace = {
    "lr": LogScale(minval=-5, maxval=-1, base=10),
    "layers": Int(minval=1, maxval=8),
    "dropout": Double(minval=0, maxval=0.7),
    "optimizer": Categorical(vals=("sgd", "adam", "adamw")),
}
RUNGS = (4, 16, 64, 256)


def main(sizes: list[int]) -> None:
    """Print a line for each method and size, and one for the rebuilding of a memory."""
    for trials in sizes:
        asha = AdaptiveAsha(
            metric="loss",
            time_metric="batches",
            max_time=256,
            max_trials=trials,
            max_concurrent_trials=500,
        )
        run = measure("search_domain_asha", trials, asha)
        measure_rebuild(trials, run)
        everything = Random(metric="loss", max_trials=trials, max_concurrent_trials=500)
        measure("search_domain_random", trials, everything)


def measure(name: str, trials: int, searcher: SearcherConfig) -> SearchRun:
    """Play a whole search: trials take turns, each reports at the rungs and then ends."""
    curve = random.Random(1)
    run = SearchRun(build(searcher, SPACE, 42))
    decisions, slowest_s, started = 0, 0.0, perf_counter()
    turns = deque((c.request_id, 0) for c in creates(run.start()))
    while turns:
        request_id, reports = turns.popleft()
        before = perf_counter()
        if reports < len(RUNGS) and not run.trials[request_id].was_stopped:
            decision = run.validate(request_id, curve.random(), RUNGS[reports])
            turns.append((request_id, reports + 1))
        else:
            decision = run.end(request_id, "clean")
        slowest_s = max(slowest_s, perf_counter() - before)
        decisions += 1
        turns.extend((c.request_id, 0) for c in creates(decision))
    elapsed_s = perf_counter() - started
    state_bytes = len(msgspec.json.encode(run.state))
    show(name, decisions / elapsed_s, "decisions/s", trials, decisions=decisions,
         slowest_ms=round(slowest_s * 1e3, 3), state_bytes=state_bytes)  # fmt: skip
    return run


def creates(decision: SearchDecision) -> list[Create]:
    return [action for action in decision.actions if isinstance(action, Create)]


def measure_rebuild(trials: int, run: SearchRun) -> None:
    """The time to build the memory from as many rows as a search of that size leaves."""
    members, entries = [], []
    for request_id in run.trials:
        member = run.memory.member(request_id)
        members.append(BracketMember(member.bracket, request_id))
        for rung, metric in member.metrics.items():
            entries.append(RungEntry(member.bracket, rung, request_id, metric))
    started = perf_counter()
    SearchMemory.rebuild(members, entries)
    show("search_domain_rebuild", perf_counter() - started, "s", trials, rows=len(entries))


def show(name: str, value: float, unit: str, trials: int, **more: Any) -> None:
    line = {"name": name, "value": round(value, 3), "unit": unit, "trials": trials, **more}
    print(json.dumps(line), flush=True)


if __name__ == "__main__":
    main([int(arg) for arg in sys.argv[1:]] or [10_000, 100_000])
