from collections.abc import Iterator

import pytest
from tests.domain.search.builders import adaptive, grid, method, random

from determined_master.domain.config.sections.hyperparameters import Double, HyperparameterSpace
from determined_master.domain.search.method import Create, build
from determined_master.domain.search.simulate import SimulatedReport, Training, simulate

SPACE: HyperparameterSpace = {"floor": Double(minval=0, maxval=1)}


def curve(create: Create) -> Training:
    """64 steps of a second each, towards a floor that the hyperparameter is."""

    def reports() -> Iterator[SimulatedReport]:
        for step in range(1, 65):
            yield SimulatedReport(1.0, step, create.hparams["floor"] + 1 / step)

    return Training(reports())


def test_asha_stops_bad_trials_and_trains_a_good_one_in_full() -> None:
    search = adaptive(max_trials=64, max_concurrent_trials=8, mode="aggressive")
    done = simulate(build(search, SPACE, 1), curve, workers=8)
    assert len(done.trials) == 64
    assert all(trial.end == "clean" for trial in done.trials)
    full = [t.create.hparams["floor"] for t in done.trials if t.reports == 64]
    short = [t.create.hparams["floor"] for t in done.trials if t.reports == 1]
    assert 1 <= len(full) <= 12
    assert len(short) >= 32
    assert max(full) < sum(short) / len(short)
    assert min(full) == min(t.create.hparams["floor"] for t in done.trials)


def test_asha_takes_a_fraction_of_the_time_of_random_search() -> None:
    asha = simulate(build(adaptive(max_trials=64), SPACE, 1), curve, workers=4)
    everything = simulate(build(random(max_trials=64), SPACE, 1), curve, workers=4)
    assert everything.elapsed_s == 64 * 64 / 4
    assert asha.elapsed_s < 0.5 * everything.elapsed_s


def test_trials_wait_for_workers_in_order() -> None:
    done = simulate(
        method("random"), lambda _: Training([SimulatedReport(2.0, 1, 0.0)]), workers=2
    )
    assert [t.started_s for t in done.trials] == [2.0 * (i // 2) for i in range(20)]
    assert done.elapsed_s == 20.0


def test_ends_reach_the_method() -> None:
    done = simulate(method("random"), lambda _: Training([], "errored"), workers=1)
    assert {t.end for t in done.trials} == {"errored"}


def test_an_empty_search_ends_at_once() -> None:
    done = simulate(build(grid(), {}, 1), curve, workers=1)
    assert (done.elapsed_s, done.trials) == (0.0, [])


def test_a_simulation_without_workers_is_refused() -> None:
    with pytest.raises(ValueError, match="at least 1 worker"):
        simulate(method("single"), curve, workers=0)
