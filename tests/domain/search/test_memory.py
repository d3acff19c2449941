import math
import random

import pytest

from determined_master.domain.search.memory import SearchMemory
from determined_master.domain.search.records import BracketMember, RungEntry


def entry(trial: str, rung: int, metric: float, *, stopped: bool = False) -> RungEntry:
    return RungEntry(0, rung, trial, metric, stopped=stopped)


def test_a_rung_is_ordered_best_first() -> None:
    memory = SearchMemory.rebuild([BracketMember(0, "a"), BracketMember(0, "b")], [])
    memory.apply(entry("a", 0, math.inf))
    memory.apply(entry("b", 0, -1.0))
    assert memory.rung(0, 0) == [-1.0, math.inf]
    assert memory.rung(1, 0) == []


def test_a_trial_stands_behind_the_rungs_it_has_cleared() -> None:
    memory = SearchMemory.rebuild([BracketMember(0, "a")], [entry("a", 0, 1.0)])
    assert memory.member("a").rung == 1
    memory.apply(entry("a", 1, 1.0, stopped=True))
    assert memory.member("a").rung == 1
    assert not memory.member("a").is_open


def test_rows_in_any_order_give_the_memory_that_grew() -> None:
    members = [BracketMember(i % 2, str(i)) for i in range(30)]
    entries = [
        RungEntry(i % 2, rung, str(i), float(i % 7), stopped=rung == i % 3)
        for i in range(30)
        for rung in range(i % 3 + 1)
    ]
    grown = SearchMemory()
    for row in (*members, *entries):
        grown.apply(row)
    late = [BracketMember(1, "5", state="invalid"), BracketMember(0, "6", state="closed")]
    for row in late:
        grown.apply(row)

    stored = {row.request_id: row for row in (*members, *late)}
    shuffle = random.Random(0).shuffle
    rows = list(stored.values())
    shuffle(rows)
    shuffle(entries)
    assert SearchMemory.rebuild(rows, entries) == grown
    assert SearchMemory.rebuild(rows, entries[1:]) != grown


def test_an_unknown_trial_is_the_callers_mistake() -> None:
    with pytest.raises(ValueError, match="no trial with request id 'a'"):
        SearchMemory().apply(entry("a", 0, 1.0))
