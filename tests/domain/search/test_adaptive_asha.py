import pytest
from tests.covers import covers
from tests.domain.search.builders import SPACE, adaptive, halving

from determined_master.domain.config.sizes import ConfigLimits
from determined_master.domain.search.adaptive_asha import (
    adaptive_brackets,
    bracket_sizes,
    most_rungs,
    split_concurrency,
    split_trials,
)
from determined_master.domain.search.asha import Bracket, HalvingSearch
from determined_master.domain.search.method import SearchError, TrialCount, build

WITHOUT_END = {"max_time": 2**63 - 1, "max_trials": 2**63 - 1}

WORKED = [
    ("aggressive", 4, 256, 100, 16, [(100, 16, (4, 16, 64, 256))]),
    (
        "standard",
        4,
        256,
        100,
        16,
        [(70, 6, (4, 16, 64, 256)), (22, 5, (16, 64, 256)), (8, 5, (64, 256))],
    ),
    (
        "conservative",
        4,
        256,
        100,
        16,
        [
            (67, 4, (4, 16, 64, 256)),
            (21, 4, (16, 64, 256)),
            (8, 4, (64, 256)),
            (4, 4, (256,)),
        ],
    ),
    ("standard", 4, 1000, 16, 16, [(12, 8, (62, 250, 1000)), (4, 8, (250, 1000))]),
    (
        "conservative",
        4,
        1000,
        16,
        16,
        [(12, 6, (62, 250, 1000)), (3, 5, (250, 1000)), (1, 5, (1000,))],
    ),
    ("standard", 4, 100, 10, 2, [(7, 1, (25, 100)), (3, 1, (100,))]),
    (
        "conservative",
        3,
        1000,
        10,
        5,
        [(7, 2, (111, 333, 1000)), (2, 2, (333, 1000)), (1, 1, (1000,))],
    ),
    (
        "standard",
        3,
        100,
        500,
        0,
        [(313, 57, (1, 3, 11, 33, 100)), (130, 57, (3, 11, 33, 100)), (57, 57, (11, 33, 100))],
    ),
]


@pytest.mark.parametrize(("mode", "divisor", "time", "trials", "at_once", "expected"), WORKED)
@covers("experiment-config 7.table 7.2 7.3 7.4 7.5 6.adaptive_asha")
def test_brackets_of_worked_searches(mode, divisor, time, trials, at_once, expected) -> None:
    sizes = bracket_sizes(mode, most_rungs(5, divisor, time, trials))
    brackets = adaptive_brackets(sizes, divisor, time, trials, at_once)
    assert brackets == [
        # a bracket never runs more trials at once than it has
        Bracket(thresholds, count, min(concurrency, count))
        for count, concurrency, thresholds in expected
    ]


@pytest.mark.parametrize(
    ("trials", "divisor", "sizes", "expected"),
    [
        (20, 3, [3, 2, 1], [12, 5, 3]),
        (50, 3, [4, 3], [35, 15]),
        (50, 4, [3, 2], [37, 13]),
        (100, 4, [4, 3, 2], [70, 22, 8]),
        (1, 4, [3, 2, 1], [1, 1, 1]),
    ],
)
@covers("experiment-config 7.splits 7.3")
def test_trials_of_brackets(trials, divisor, sizes, expected) -> None:
    assert split_trials(trials, divisor, sizes) == expected


@pytest.mark.parametrize(
    ("at_once", "divisor", "trials", "expected"),
    [
        (0, 3, [9, 3, 1], [3, 3, 3]),
        (11, 3, [1, 1, 1], [4, 4, 3]),
        (0, 4, [40, 10], [10, 10]),
        (1, 4, [5, 5, 5], [1, 1, 1]),
    ],
)
@covers("experiment-config 7.concurrency 7.4")
def test_concurrency_of_brackets(at_once, divisor, trials, expected) -> None:
    assert split_concurrency(at_once, divisor, trials) == expected


@covers("experiment-config 7.1 5.max_rungs")
def test_rungs_are_as_many_as_time_and_trials_suffice_for() -> None:
    assert most_rungs(5, 4, 256, 10**6) == 5
    assert most_rungs(10, 4, 255, 10**6) == 4
    assert most_rungs(10, 4, 10**6, 16) == 3
    assert most_rungs(5, 4, 1, 1) == 1


@covers("experiment-config 7.1")
def test_logarithms_are_truncated_as_floats_give_them() -> None:
    assert most_rungs(10, 3, 243, 10**6) == 5
    assert most_rungs(10, 10, 1000, 10**6) == 3


@covers("experiment-config 5.bracket_rungs 7.1")
def test_explicit_brackets_bypass_mode_and_cap() -> None:
    search = build(adaptive(bracket_rungs=(1, 3), max_time=16, max_trials=10, divisor=4), SPACE, 1)
    # weights 16/3 and 1: 8 and 1 trials, and the one left over goes to the larger bracket
    assert search.preview() == (
        TrialCount(7, "batches", 1),
        TrialCount(1, "batches", 4),
        TrialCount(2, "batches", 16),
    )


@covers("experiment-config 7.preview 6.preview")
def test_preview_counts_the_ends_at_each_rung() -> None:
    search = build(adaptive(divisor=3, max_rungs=10, max_time=900, max_trials=10), SPACE, 1)
    assert search.preview() == (
        TrialCount(5, "batches", 100),
        TrialCount(3, "batches", 300),
        TrialCount(2, "batches", 900),
    )


def test_preview_of_the_observed_search() -> None:
    search = build(adaptive(max_time=100, max_trials=4, max_concurrent_trials=16), SPACE, 1)
    assert search.preview() == (TrialCount(2, "batches", 25), TrialCount(2, "batches", 100))


@pytest.mark.parametrize("missing", ["max_time", "time_metric"])
def test_a_search_without_its_time_is_refused(missing) -> None:
    with pytest.raises(SearchError, match="requires `max_time` and `time_metric`"):
        build(adaptive(**{missing: None}), SPACE, 1)


@pytest.mark.parametrize(
    ("field", "value"), [("max_time", 0), ("divisor", 1), ("bracket_rungs", (2, 0))]
)
def test_a_search_that_cannot_be_laid_out_is_refused_by_field(field, value) -> None:
    with pytest.raises(SearchError, match=f"searcher.{field}"):
        build(adaptive(**{field: value}), SPACE, 1)


@pytest.mark.parametrize(
    ("search", "words"),
    [
        (adaptive(max_rungs=2**62, divisor=1.0001, **WITHOUT_END), r"max_rungs .* 1\.0001"),
        (
            adaptive(max_rungs=2**62, divisor=1 + 2**-52, **WITHOUT_END),
            "max_rungs .* rungs, at most 2,500 allowed",
        ),
        (
            adaptive(mode="conservative", max_rungs=200, divisor=1.01, **WITHOUT_END),
            "200 brackets, at most 64",
        ),
        (adaptive(bracket_rungs=(2**62, 2**62)), f"bracket_rungs .* {2**63:,} rungs"),
        (adaptive(bracket_rungs=(600, 2)), "to the power of 599, for a bracket of 600 rungs"),
        (halving(num_rungs=2**62), "num_rungs .* ask an admin to raise config_limits.max_rungs"),
        (halving(num_rungs=1000), "to the power of 999"),
        (adaptive(bracket_rungs=(1,) * 65), "65 brackets, at most 64 .*max_brackets"),
    ],
)
def test_rungs_without_bound_are_refused_before_any_is_laid_out(search, words) -> None:
    with pytest.raises(SearchError, match=words):
        build(search, SPACE, 1, ConfigLimits())


def test_a_stored_search_stays_valid_when_a_limit_is_lowered() -> None:
    stored = adaptive(bracket_rungs=(1,) * 65)
    assert build(stored, SPACE, 1).preview()


def test_the_rungs_of_the_longest_training_are_few_enough() -> None:
    longest = adaptive(mode="conservative", max_rungs=2**62, divisor=2, **WITHOUT_END)
    assert sum(t.count for t in build(longest, SPACE, 1, ConfigLimits()).preview()) >= 2**62


@covers("experiment-config 7.default_minimum")
def test_by_default_the_first_verdict_comes_after_a_256th_of_the_time() -> None:
    method = build(adaptive(max_time=2560, max_trials=1000), SPACE, 1)
    assert isinstance(method, HalvingSearch)
    assert method._brackets[0].thresholds[0] == 10
