"""Measures figures one after the other and prints a line of JSON for each."""

from __future__ import annotations

import contextlib
import json
import statistics
import sys
import time
import traceback
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import psutil

from bench.cluster import Cluster, start_cluster
from bench.figure import CannotMeasure, Conditions, Figure, Limit, Load, Measured
from bench.weather import Peer

SMOKE_TRIES = 3
BUSY_S, SMOKE_BUSY_S = 0.5, 0.2
"""How long is looked at what the machine does besides: a busy one measures something else."""


def run(figures: Sequence[Figure], *, is_smoke: bool) -> int:
    """Measure and print.

    Returns:
        1 when a figure could not be measured, or when one of a smoke run misses what its limits
        allow on this machine now, twice; else 0. A full run that misses a target is told by `ok`.
    """
    lines = _measure(figures, is_smoke=is_smoke)
    failed = [figure for figure in figures if not _is_good(lines[figure.name], is_smoke)]
    if failed and is_smoke:
        # Minutes later and on a cluster of their own: neither a neighbour of this machine nor
        # what earlier figures left in the database is their subject.
        print("again:", *(figure.name for figure in failed), file=sys.stderr)
        lines = _measure(failed, is_smoke=True)
    failures = [line for line in lines.values() if not _is_good(line, is_smoke)]
    if failures:  # a reader of a long log begins at its end
        print("these figures failed:", *map(json.dumps, failures), sep="\n", file=sys.stderr)
    return int(bool(failures))


def _measure(figures: Sequence[Figure], *, is_smoke: bool) -> dict[str, dict[str, Any]]:
    """The line of each figure by its name; each is printed once it is there."""
    lines: dict[str, dict[str, Any]] = {}
    with contextlib.ExitStack() as stack:
        shared = stack.enter_context(Shared())
        peer = stack.enter_context(Peer()) if is_smoke else None
        for figure in figures:
            line = _line(figure, shared) if peer is None else _smoke_line(figure, shared, peer)
            lines[figure.name] = line
            print(json.dumps(line), flush=True)
    return lines


def _is_good(line: dict[str, Any], is_smoke: bool) -> bool:
    """Whether a figure was measured or skipped, and in a smoke run is good enough."""
    if "skipped" in line or not is_smoke:
        return "error" not in line
    return bool(line.get("ok_smoke"))


class Shared:
    """The cluster that most figures share, started when the first one asks for it."""

    def __init__(self) -> None:
        self._stack = contextlib.ExitStack()
        self._cluster: Cluster | None = None

    def __enter__(self) -> Shared:
        return self

    def __exit__(self, *exc: object) -> None:
        self._stack.close()

    def cluster(self) -> Cluster:
        """The running cluster."""
        if self._cluster is None:
            self._cluster = self._stack.enter_context(start_cluster())
        return self._cluster


def _smoke_line(figure: Figure, shared: Shared, peer: Peer) -> dict[str, Any]:
    """A short load on a machine that others use: a miss is believed when it repeats.

    `missed` holds the values of the tries before the one that is told.
    """
    missed: list[Any] = []
    while True:
        line = _line(figure, shared, peer)
        if line.get("ok_smoke") or "skipped" in line or len(missed) == SMOKE_TRIES - 1:
            return {**line, "missed": missed} if missed else line
        others = [each["value"] for each in line.get("also", ())]
        missed.append([line["value"], *others] if others else line["value"])


def _line(figure: Figure, shared: Shared, peer: Peer | None = None) -> dict[str, Any]:
    load = figure.full if peer is None else figure.smoke
    first = figure.limits[0]
    line: dict[str, Any] = {"name": figure.name, "unit": first.unit, "target": first.target}
    busy_percent = psutil.cpu_percent(BUSY_S if peer is None else SMOKE_BUSY_S)
    since = time.perf_counter()
    if peer is not None:
        peer.conditions()
    try:
        runs = list(_runs(figure, load, shared))
    except CannotMeasure as error:
        return {**line, "value": None, "skipped": str(error)}
    except Exception as error:  # one figure that fails must not hide the others
        traceback.print_exc(file=sys.stderr)
        return {**line, "value": None, "ok": False, "error": f"{type(error).__name__}: {error}"}
    medians = [statistics.median(r.values[i] for r in runs) for i in range(len(figure.limits))]
    judged = list(zip(figure.limits, medians, strict=True))
    line = {
        "name": figure.name,
        "value": _rounded(medians[0]),
        "unit": first.unit,
        "target": first.target,
        "direction": first.direction,
        "ok": all(limit.is_met(value) for limit, value in judged),
    }
    if peer is not None:
        seen = peer.conditions()
        others = min(busy_percent, psutil.cpu_percent(SMOKE_BUSY_S))
        line |= _judged_in_smoke(judged, replace(seen, others_percent=others))
    if len(judged) > 1:
        line["also"] = [_also(limit, value) for limit, value in judged[1:]]
    line["runs"] = [_rounded(r.values[0]) for r in runs]
    line["busy_before_percent"] = busy_percent
    line["took_s"] = round(time.perf_counter() - since, 1)
    return {**line, **runs[-1].facts}


def _judged_in_smoke(
    judged: Sequence[tuple[Limit, float]], conditions: Conditions
) -> dict[str, Any]:
    met = [limit.is_met_in_smoke(value, conditions) for limit, value in judged]
    return {
        "ok_smoke": all(met),
        "others_percent": conditions.others_percent,
        "slowness": conditions.slowness,
        "late_ms": round(conditions.late_s * 1000, 1),
    }


def _runs(figure: Figure, load: Load, shared: Shared) -> Iterator[Measured]:
    if figure.measure_alone is not None:
        for _ in range(load.runs):
            yield figure.measure_alone(load)
        return
    if figure.measure is None:
        raise ValueError(f"{figure.name} has nothing that measures it")
    with contextlib.ExitStack() as stack:
        own = figure.needs == "own"
        cluster = stack.enter_context(start_cluster()) if own else shared.cluster()
        if figure.warm_up:
            figure.measure(cluster, figure.smoke)
        for _ in range(load.runs):
            yield figure.measure(cluster, load)


def _also(limit: Limit, value: float) -> dict[str, Any]:
    return {
        "name": limit.name,
        "value": _rounded(value),
        "unit": limit.unit,
        "target": limit.target,
        "ok": limit.is_met(value),
    }


def _rounded(value: float) -> float:
    return round(value, 3) if abs(value) < 100 else round(value)
