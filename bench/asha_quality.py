"""How much sooner adaptive ASHA finds a good trial than random search, in simulation.

Both searches draw the same points from one seed and train them on 500 virtual workers. A trial
of t seconds has the loss a + b * t^-c, with a, b and c from a seeded hash of its point, times
1 + 1 % of a normal deviate. The incumbent is the trial with the lowest loss reported so far. A
search has arrived at the instant from which on its incumbent's final value (without noise, at
256 s) stays within 1 % of the best final value among the search's points. The figure is the
median over the seeds of ASHA's instant over that of random search.
"""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Iterator
from hashlib import blake2b
from statistics import median, quantiles
from typing import Any

from determined_master.domain.config.hyperparameters import Double, HyperparameterSpace, Int, Log
from determined_master.domain.config.searcher import AdaptiveAsha, Random, SearcherConfig
from determined_master.domain.search.method import Create, build
from determined_master.domain.search.simulate import Report, Training, simulate

SPACE: HyperparameterSpace = {
    "lr": Log(minval=-5, maxval=-1, base=10),
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


def main(trials: int, seeds: range) -> None:
    """Print the figure as one JSON line."""
    asha = AdaptiveAsha(
        metric="loss",
        time_metric="seconds",
        max_time=MAX_TIME,
        max_trials=trials,
        max_concurrent_trials=WORKERS,
    )
    everything = Random(metric="loss", max_trials=trials, max_concurrent_trials=WORKERS)
    pairs = [(arrival(asha, seed), arrival(everything, seed)) for seed in seeds]
    ratios = [1.0 if ours == theirs else ours / theirs for ours, theirs in pairs]
    low, _, high = quantiles(ratios, n=4)
    line = {
        "name": "asha_quality",
        "value": round(median(ratios), 3),
        "unit": "ratio",
        "quartiles": [round(low, 3), round(high, 3)],
        "asha_s": median(ours for ours, _ in pairs),
        "random_s": median(theirs for _, theirs in pairs),
        "asha_never": sum(math.isinf(ours) for ours, _ in pairs),
        "random_never": sum(math.isinf(theirs) for _, theirs in pairs),
        "trials": trials,
        "workers": WORKERS,
        "seeds": len(seeds),
    }
    print(json.dumps(line), flush=True)


def arrival(searcher: SearcherConfig, seed: int) -> float:
    """Seconds until the incumbent stays within the tolerance; infinity if it ends outside."""
    curves: dict[str, Curve] = {}
    incumbents: list[tuple[float, str]] = []
    best = math.inf

    def train(create: Create) -> Training:
        curves[create.request_id] = Curve(seed, create.hparams)
        return Training(reports(curves[create.request_id]))

    def on_report(at_s: float, request_id: str, report: Report) -> None:
        nonlocal best
        if report.metric < best:
            best = report.metric
            incumbents.append((at_s, request_id))

    simulate(build(searcher, SPACE, seed), train, WORKERS, on_report)
    finals = {request_id: curve.loss(MAX_TIME) for request_id, curve in curves.items()}
    enough = min(finals.values()) * (1 + TOLERANCE)
    arrived_s = math.inf
    for at_s, request_id in reversed(incumbents):
        if finals[request_id] > enough:
            break
        arrived_s = at_s
    return arrived_s


def reports(curve: Curve) -> Iterator[Report]:
    before = 0
    for time in REPORTED_AT:
        yield Report(time - before, time, curve.reported(time))
        before = time


if __name__ == "__main__":
    arguments = [int(arg) for arg in sys.argv[1:]]
    main(arguments[0] if arguments else 10_000, range(1, 1 + (arguments[1:] or [20])[0]))
