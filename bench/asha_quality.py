"""How much sooner adaptive ASHA finds a good trial than random search, in simulation.

Both searches draw the same points from one seed and train them on 500 virtual workers. A trial
of t seconds has the loss a + b * t^-c, with a, b and c from a seeded hash of its point, times
1 + 1 % of a normal deviate. The incumbent is the trial with the lowest loss reported so far. A
search has arrived at the instant from which on its incumbent's final value (without noise, at
256 s) stays good enough. The figure is the median over the seeds of ASHA's instant over that of
random search, in two readings of good enough: at most 1 % above the best final value among the
search's points, which is held to the target; and among the best 1 % of these final values. Why
the first: docs/performance/measuring.md.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Sequence
from hashlib import blake2b
from statistics import median, quantiles
from typing import Any, NamedTuple

from determined_master.domain.config.sections.hyperparameters import (
    Double,
    HyperparameterSpace,
    Int,
    LogScale,
)
from determined_master.domain.config.sections.searcher import AdaptiveAsha, Random, SearcherConfig
from determined_master.domain.search.method import Create, build
from determined_master.domain.search.simulate import SimulatedReport, Training, simulate

SPACE: HyperparameterSpace = {
    "lr": LogScale(minval=-5, maxval=-1, base=10),
    "layers": Int(minval=1, maxval=8),
    "dropout": Double(minval=0, maxval=0.7),
}
WORKERS = 500
MAX_TIME = 256
REPORTED_AT = tuple(2**i for i in range(9))
NOISE = 0.01
TOLERANCE = 0.01


class Curve:
    """The learning curve of one point under one seed."""

    def __init__(self, seed: int, hparams: dict[str, Any]) -> None:
        point = json.dumps([seed, hparams], sort_keys=True).encode()
        digest = blake2b(point, digest_size=24).digest()
        u, v, w = (int.from_bytes(digest[i : i + 8]) / 2**64 for i in (0, 8, 16))
        self._digest = digest
        self.a, self.b, self.c = 0.1 + 0.9 * u, 0.2 + 1.8 * v, 0.3 + 0.9 * w

    def loss(self, time: int) -> float:
        """The loss after `time` seconds, without noise."""
        return float(self.a + self.b * time**-self.c)

    def reported(self, time: int) -> float:
        """The loss after `time` seconds as the trial reports it."""
        digest = blake2b(time.to_bytes(4), key=self._digest, digest_size=16).digest()
        u, v = ((int.from_bytes(digest[i : i + 8]) + 1) / (2**64 + 1) for i in (0, 8))
        deviate = math.sqrt(-2 * math.log(u)) * math.cos(2 * math.pi * v)
        return self.loss(time) * (1 + NOISE * deviate)


class Arrival(NamedTuple):
    """When a search arrived, in seconds, by each reading; infinity if it ends outside."""

    near_best_s: float
    in_best_share_s: float


class Quality(NamedTuple):
    """Medians over the seeds, the ratio's quartiles, and how often a search never arrived."""

    near_best: float
    near_best_quartiles: tuple[float, float]
    in_best_share: float
    asha_s: float
    random_s: float
    asha_never: int
    random_never: int


def compare(trials: int, seeds: range) -> Quality:
    """Simulate both searches under each seed."""
    asha = AdaptiveAsha(
        metric="loss",
        time_metric="seconds",
        max_time=MAX_TIME,
        max_trials=trials,
        max_concurrent_trials=WORKERS,
    )
    everything = Random(metric="loss", max_trials=trials, max_concurrent_trials=WORKERS)
    pairs = [(arrival(asha, seed), arrival(everything, seed)) for seed in seeds]
    near = [_ratio(ours.near_best_s, theirs.near_best_s) for ours, theirs in pairs]
    share = [_ratio(ours.in_best_share_s, theirs.in_best_share_s) for ours, theirs in pairs]
    low, _, high = quantiles(near, n=4)
    return Quality(
        near_best=median(near),
        near_best_quartiles=(round(low, 3), round(high, 3)),
        in_best_share=median(share),
        asha_s=median(ours.near_best_s for ours, _ in pairs),
        random_s=median(theirs.near_best_s for _, theirs in pairs),
        asha_never=sum(math.isinf(ours.near_best_s) for ours, _ in pairs),
        random_never=sum(math.isinf(theirs.near_best_s) for _, theirs in pairs),
    )


def arrival(searcher: SearcherConfig, seed: int) -> Arrival:
    """Play one search under one seed."""
    curves: dict[str, Curve] = {}
    incumbents: list[tuple[float, str]] = []
    best = math.inf

    def train(create: Create) -> Training:
        curves[create.request_id] = Curve(seed, create.hparams)
        return Training(reports(curves[create.request_id]))

    def on_report(at_s: float, request_id: str, report: SimulatedReport) -> None:
        nonlocal best
        if report.metric < best:
            best = report.metric
            incumbents.append((at_s, request_id))

    simulate(build(searcher, SPACE, seed), train, WORKERS, on_report)
    finals = {request_id: curve.loss(MAX_TIME) for request_id, curve in curves.items()}
    ordered = sorted(finals.values())
    limits = (ordered[0] * (1 + TOLERANCE), ordered[max(int(len(ordered) * TOLERANCE), 1) - 1])
    path = [(at_s, finals[request_id]) for at_s, request_id in incumbents]
    return Arrival(*(_stays_from(path, limit) for limit in limits))


def _stays_from(path: Sequence[tuple[float, float]], limit: float) -> float:
    """The instant from which on the values of a path stay at or below a limit."""
    from_s = math.inf
    for at_s, value in reversed(path):
        if value > limit:
            break
        from_s = at_s
    return from_s


def _ratio(ours: float, theirs: float) -> float:
    return 1.0 if ours == theirs else ours / theirs


def reports(curve: Curve) -> Iterator[SimulatedReport]:
    before = 0
    for time in REPORTED_AT:
        yield SimulatedReport(time - before, time, curve.reported(time))
        before = time
