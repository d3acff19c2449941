"""Kept answers: only those of the current data, within one bound for all kinds together."""

from __future__ import annotations

import tracemalloc
from collections.abc import Iterator

import pytest

from determined_master.records.metrics import SeriesRequest
from determined_master.services.answer_cache import (
    ENTRY_BYTES,
    LARGEST_PART,
    AnswerCache,
    CacheBudget,
)
from determined_master.services.experiments.listing.lists import Rendered
from determined_master.services.experiments.listing.pages import ExperimentPage
from determined_master.services.metrics.series_cache import CachedSeries

MIB = 2**20


def kept(max_bytes: int = MIB) -> AnswerCache[int, str]:
    return AnswerCache(CacheBudget(max_bytes), "test")


def test_an_answer_is_found_in_its_version_alone() -> None:
    answers = kept()
    answers.keep(1, "a", "first", 5)
    assert (answers.find(1, "a"), answers.find(1, "b"), answers.find(2, "a")) == (
        "first",
        None,
        None,
    )
    answers.keep(1, "b", "second", 5)
    assert (answers.find(1, "a"), answers.find(1, "b")) == (None, "second")
    assert (answers.find_any(1), answers.find_any(2)) == ("second", None)


def test_kinds_do_not_mix() -> None:
    memory = CacheBudget()
    one: AnswerCache[int, str] = AnswerCache(memory, "one")
    other: AnswerCache[int, str] = AnswerCache(memory, "other")
    one.keep(1, "a", "mine", 5)
    assert other.find(1, "a") is None


def test_the_least_recently_used_answers_of_all_kinds_leave_first() -> None:
    memory = CacheBudget(10 * (ENTRY_BYTES + 100))
    old: AnswerCache[int, str] = AnswerCache(memory, "old")
    new: AnswerCache[int, str] = AnswerCache(memory, "new")
    for n in range(10):
        old.keep(n, "a", "x", 100)
    assert old.find(0, "a") == "x"  # used again: 1 and 2 are the oldest now
    for n in range(2):
        new.keep(n, "a", "y", 100)
    assert [n for n in range(10) if old.find(n, "a") is None] == [1, 2]
    assert [new.find(n, "a") for n in range(2)] == ["y", "y"]
    assert memory.used_bytes == memory.max_bytes


def test_an_answer_that_would_displace_many_is_not_kept() -> None:
    memory = CacheBudget(MIB)
    answers: AnswerCache[int, str] = AnswerCache(memory, "test")
    answers.keep(1, "a", "small", 100)
    answers.keep(1, "b", "large", MIB // LARGEST_PART)
    assert (answers.find_any(1), memory.used_bytes) == (None, 0)


def a_series(n: int) -> tuple[SeriesRequest, CachedSeries]:
    wanted = SeriesRequest(trial_id=n, group="training", names=(f"loss {n}",))
    values = [(n * step, {f"loss {n}": float(step)}) for step in range(300, 500)]
    texts = [b'{"batches":%d,"values":{"loss":%d.5}}' % (n * at, at) for at, _ in values]
    return wanted, CachedSeries(b",".join(texts), n, n * 10_000, values, texts)


class Four:
    """All kinds of kept answers, filled at the same time."""

    def __init__(self, max_bytes: int) -> None:
        self.memory = CacheBudget(max_bytes)
        self.pages: AnswerCache[tuple[int, bool], ExperimentPage] = AnswerCache(
            self.memory, "page"
        )
        self.items: AnswerCache[int, Rendered] = AnswerCache(self.memory, "experiment")
        self.runs: AnswerCache[int, bytes] = AnswerCache(self.memory, "run")
        self.series: AnswerCache[SeriesRequest, CachedSeries] = AnswerCache(self.memory, "series")

    def add(self, n: int) -> None:
        """One more of each, of usual sizes."""
        version = f"{n}.{n + 1}"
        page = ExperimentPage(b"p" * (2000 + n % 99), b"c" * (1500 + n % 99))
        self.pages.keep((n, True), version, page, len(page.members) + len(page.config))
        item = Rendered(b"e" * (900 + n % 99), b"b" * (30 + n % 9))
        self.items.keep(n, version, item, len(item.always) + len(item.best_metric))
        run = b"r" * (600 + n % 99)
        self.runs.keep(n, version, run, len(run))
        wanted, series = a_series(n)
        self.series.keep(wanted, version, series, series.size_bytes)


@pytest.fixture
def traced() -> Iterator[None]:
    tracemalloc.start()
    yield
    tracemalloc.stop()


@pytest.mark.slow
@pytest.mark.parametrize("max_bytes", [2 * MIB, 8 * MIB])
@pytest.mark.usefixtures("traced")
def test_all_kinds_together_take_no_more_memory_than_the_bound(max_bytes: int) -> None:
    """As the interpreter counts it, after three times as much as fits."""
    four = Four(max_bytes)
    before, _ = tracemalloc.get_traced_memory()
    count = 0
    for count in range(3 * max_bytes // 70_000):
        four.add(count)
    used, _ = tracemalloc.get_traced_memory()
    assert 0.5 * max_bytes < used - before <= max_bytes
    assert four.memory.used_bytes <= max_bytes
    assert four.series.find_any(a_series(0)[0]) is None
    assert four.series.find_any(a_series(count)[0]) is not None
