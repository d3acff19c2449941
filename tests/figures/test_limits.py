"""How a small run compares values with targets on a machine that other programs use."""

from __future__ import annotations

import json
from typing import Any

import pytest
from bench import runner
from bench.figure import Conditions, Figure, Limit, Load, Measured
from bench.registry import FIGURES
from bench.weather import Samples

QUIET = Conditions()
SLOW = Conditions(slowness=4.0, late_s=0.050)
BUSY = Conditions(others_percent=26.0)


@pytest.mark.parametrize(
    ("limit", "value", "conditions", "is_met"),
    [
        (Limit("rate", "steps/s", 3000.0), 1500.0, QUIET, True),
        (Limit("rate", "steps/s", 3000.0), 1499.0, QUIET, False),
        (Limit("rate", "steps/s", 3000.0), 375.0, SLOW, True),
        (Limit("rate", "steps/s", 3000.0), 374.0, SLOW, False),
        (Limit("p99", "ms", 20.0, "at_most"), 40.0, QUIET, True),
        (Limit("p99", "ms", 20.0, "at_most"), 41.0, QUIET, False),
        (Limit("p99", "ms", 20.0, "at_most"), 210.0, SLOW, True),
        (Limit("p99", "ms", 20.0, "at_most"), 211.0, SLOW, False),
        (Limit("time", "s", 5.0, "at_most"), 40.05, SLOW, True),
        (Limit("time", "s", 5.0, "at_most"), 40.06, SLOW, False),
        (Limit("time", "s", 5.0, "at_most"), 1000.0, BUSY, True),
        (Limit("rate", "steps/s", 3000.0), 1.0, BUSY, True),
        (Limit("over_bare", "ratio", 0.6, judged="ratio"), 0.29, BUSY, False),
        (Limit("lost", "", 0, "at_most", judged="count"), 1.0, BUSY, False),
        (Limit("over_bare", "ratio", 0.6, judged="ratio"), 0.3, SLOW, True),
        (Limit("over_bare", "ratio", 0.6, judged="ratio"), 0.29, SLOW, False),
        (Limit("lost", "", 0, "at_most", judged="count"), 1.0, SLOW, False),
        (Limit("rss", "MB", 200.0, "at_most", judged="count"), 201.0, SLOW, False),
        (Limit("rate", "lines/s", 9.0, judged="reported"), 0.0, QUIET, True),
    ],
)
def test_a_value_of_a_small_run_is_judged_by_its_kind(
    limit: Limit, value: float, conditions: Conditions, is_met: bool
) -> None:
    assert limit.is_met_in_smoke(value, conditions) is is_met


def test_a_limit_is_only_reported_beside_one_that_the_machine_does_not_change() -> None:
    alone = [
        f.name
        for f in FIGURES
        if any(limit.judged == "reported" for limit in f.limits)
        and not any(limit.judged in ("ratio", "count") for limit in f.limits)
    ]
    assert alone == []


def test_slowness_is_of_the_slower_of_work_and_writes_and_at_least_1() -> None:
    assert Samples([0.001], [0.001], late=0.02).conditions() == Conditions(1.0, 0.02)
    assert Samples([0.001, 0.008, 0.009], [0.01]).conditions().slowness == 4.0
    assert Samples([0.001], [0.03]).conditions().slowness == 3.0
    assert Samples([], []).conditions() == Conditions()


class FakePeer:
    """A machine in the same conditions at each question."""

    def __init__(self, conditions: Conditions) -> None:
        self._conditions = conditions

    def __enter__(self) -> FakePeer:
        return self

    def __exit__(self, *exc: object) -> None:
        pass

    def conditions(self) -> Conditions:
        return self._conditions


def lines(capsys, monkeypatch, conditions: Conditions, **values: float) -> tuple[int, list[Any]]:
    """The status of a small run with one figure that has these values of 100, and its lines."""
    monkeypatch.setattr(runner, "Peer", lambda: FakePeer(conditions))
    monkeypatch.setattr(runner.psutil, "cpu_percent", lambda interval: conditions.others_percent)
    figure = Figure(
        name="work",
        limits=[
            Limit("rate", "steps/s", 100.0),
            Limit("over_bare", "ratio", 1.0, judged="ratio"),
        ],
        measure=None,
        measure_alone=lambda load: Measured([values["rate"], values["over_bare"]]),
        full=Load(runs=1),
        smoke=Load(runs=1),
        needs="nothing",
    )
    status = runner.run([figure], is_smoke=True)
    return status, [json.loads(line) for line in capsys.readouterr().out.splitlines()]


def test_a_slow_machine_fails_no_rate(capsys, monkeypatch) -> None:
    status, [line] = lines(capsys, monkeypatch, SLOW, rate=20.0, over_bare=1.0)
    assert (status, line["ok"], line["ok_smoke"]) == (0, False, True)
    assert (line["slowness"], line["late_ms"]) == (4.0, 50.0)
    assert line["took_s"] >= 0


def test_a_busy_machine_fails_no_rate(capsys, monkeypatch) -> None:
    status, [line] = lines(capsys, monkeypatch, BUSY, rate=1.0, over_bare=1.0)
    assert (status, line["ok"], line["ok_smoke"]) == (0, False, True)
    assert line["others_percent"] == 26.0


@pytest.mark.parametrize(
    ("conditions", "rate", "over_bare"), [(QUIET, 20.0, 1.0), (SLOW, 20.0, 0.4), (BUSY, 20.0, 0.4)]
)
def test_a_slow_program_fails_on_any_machine(
    capsys, monkeypatch, conditions: Conditions, rate: float, over_bare: float
) -> None:
    status, measured = lines(capsys, monkeypatch, conditions, rate=rate, over_bare=over_bare)
    assert status == 1
    assert [line["ok_smoke"] for line in measured] == [False, False]
    assert all(len(line["missed"]) == runner.SMOKE_TRIES - 1 for line in measured)
