"""What every search method must do, whatever its trials report and however they end."""

import random
from collections.abc import Iterable
from dataclasses import dataclass

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.covers import covers
from tests.domain.search.builders import CONFIGS, TOTALS, method

from determined_master.domain.search.method import Create, SearchDecision, SearchMemory, Stop
from determined_master.domain.search.records import BracketMember, RungEntry, TrialEnd
from determined_master.domain.search.simulate import SearchRun

ENDS: tuple[TrialEnd, ...] = ("clean", "errored", "user_canceled", "invalid_hp")
METRICS = (0.1, 0.2, 0.5, 1.0, float("inf"), float("-inf"), float("nan"))

every_method = pytest.mark.parametrize("name", CONFIGS)
seeds = st.integers(0, 2**32 - 1)


@dataclass
class Story:
    """One order of events, drawn from a seed: which trial acts next, and how."""

    name: str
    seed: int
    ends: tuple[TrialEnd, ...] = ENDS
    restart_at: int | None = None

    def play(self) -> tuple[SearchRun, list[SearchDecision]]:
        choose = random.Random(self.seed)
        run = SearchRun(method(self.name, self.seed))
        decisions = [run.start()]
        invalid = 0
        while run.open_trials:
            if len(decisions) == self.restart_at:
                restart(run, decisions, self)
            trial = choose.choice(run.open_trials[:8])
            if run.trials[trial].was_stopped:
                decisions.append(run.end(trial, "clean"))
            elif run.trials[trial].reports > 8 or choose.random() < 0.2:
                end = choose.choice(self.ends if invalid < 30 else ("clean",))
                invalid += end == "invalid_hp"
                decisions.append(run.end(trial, end))
            else:
                time = 8.0 * (run.trials[trial].reports + 1)
                decisions.append(run.validate(trial, choose.choice(METRICS), time))
        return run, decisions


def restart(run: SearchRun, decisions: Iterable[SearchDecision], story: Story) -> None:
    """Continue with another method object, and what is left of state and rows in storage."""
    stored_state = msgspec.json.encode(run.state)
    members: dict[str, BracketMember] = {}
    entries: list[RungEntry] = []
    for decision in decisions:
        for row in decision.records:
            if isinstance(row, BracketMember):
                members[row.request_id] = row
            else:
                entries.append(row)
    choose = random.Random(story.seed)
    rows = list(members.values())
    choose.shuffle(rows)
    choose.shuffle(entries)
    run.method = method(story.name, story.seed)
    run.state = msgspec.json.decode(stored_state)
    rebuilt = SearchMemory.rebuild(rows, entries)
    assert rebuilt == run.memory
    run.memory = rebuilt


def as_bytes(decisions: list[SearchDecision]) -> bytes:
    return msgspec.msgpack.encode(decisions)


@every_method
@settings(max_examples=10, deadline=None)
@given(seed=seeds)
@covers("experiment-config 10.determinism 6.pure")
def test_one_seed_and_one_order_of_events_give_the_same_bytes(name: str, seed: int) -> None:
    assert as_bytes(Story(name, seed).play()[1]) == as_bytes(Story(name, seed).play()[1])


@every_method
@settings(max_examples=25, deadline=None)
@given(seed=seeds, share=st.floats(0, 1))
@covers("experiment-config 10.determinism 6.pure 6.state")
def test_a_restart_changes_no_byte(name: str, seed: int, share: float) -> None:
    _, decisions = Story(name, seed).play()
    restart_at = 1 + int(share * (len(decisions) - 2)) if len(decisions) > 1 else None
    _, again = Story(name, seed, restart_at=restart_at).play()
    assert as_bytes(again) == as_bytes(decisions)


@every_method
@settings(max_examples=15, deadline=None)
@given(seed=seeds, ends=st.lists(st.sampled_from(ENDS), min_size=1, max_size=4))
def test_every_search_comes_to_its_end_with_all_its_trials(
    name: str, seed: int, ends: list[TrialEnd]
) -> None:
    run, _ = Story(name, seed, tuple(ends)).play()
    replaced = [t for t in run.trials.values() if t.end == "invalid_hp"]
    if name in ("single", "grid"):
        replaced = []
    assert len(run.trials) - len(replaced) == TOTALS[name]


@every_method
@pytest.mark.parametrize("end", ENDS)
def test_a_search_whose_trials_all_end_alike_comes_to_its_end(name: str, end: TrialEnd) -> None:
    run = SearchRun(method(name))
    run.start()
    while run.open_trials:
        run.end(run.open_trials[0], end)
    bound = TOTALS[name] if end != "invalid_hp" else 3 * 100 + 11 * TOTALS[name]
    assert TOTALS[name] <= len(run.trials) <= bound


@every_method
@settings(max_examples=10, deadline=None)
@given(seed=seeds)
@covers("experiment-config 6.create")
def test_actions_are_legal_and_within_the_limit(name: str, seed: int) -> None:
    _, decisions = Story(name, seed).play()
    created: set[str] = set()
    stopped: set[str] = set()
    for decision in decisions:
        for action in decision.actions:
            match action:
                case Create():
                    assert action.request_id not in created
                    assert 0 <= action.seed < 2**31
                    assert set(action.hparams) == {
                        "lr", "layers", "dropout", "optimizer", "batch"
                    }  # fmt: skip
                    created.add(action.request_id)
                case Stop():
                    assert action.request_id in created - stopped
                    stopped.add(action.request_id)


@every_method
@settings(max_examples=10, deadline=None)
@given(seed=seeds)
def test_no_more_trials_wait_for_a_verdict_than_may_run_at_once(name: str, seed: int) -> None:
    waiting = 0
    choose = random.Random(seed)
    run = SearchRun(method(name, seed))
    run.start()
    while run.open_trials:
        waiting = sum(not run.trials[t].was_stopped for t in run.open_trials)
        assert waiting <= 4
        trial = choose.choice(run.open_trials)
        if run.trials[trial].was_stopped or choose.random() < 0.3:
            run.end(trial, choose.choice(("clean", "errored")))
        else:
            run.validate(trial, choose.random(), 20.0 * run.trials[trial].reports)


@every_method
@settings(max_examples=10, deadline=None)
@given(seed=seeds)
@covers("experiment-config 6.nan_progress")
def test_progress_stays_within_its_bounds(name: str, seed: int) -> None:
    choose = random.Random(seed)
    run = SearchRun(method(name, seed))
    run.start()
    while run.open_trials:
        for mean in (0.0, 0.5, 1.0, float("nan"), float("inf")):
            assert 0 <= run.method.progress(run.state, run.memory, mean) <= 1
        run.end(run.open_trials[0], choose.choice(ENDS[:3]))


@every_method
def test_the_state_stays_small(name: str) -> None:
    run, _ = Story(name, 7).play()
    assert len(msgspec.json.encode(run.state)) < 2048


@every_method
def test_a_preview_counts_every_trial(name: str) -> None:
    assert sum(part.count for part in method(name).preview()) == TOTALS[name]


@every_method
def test_another_seed_makes_other_trials(name: str) -> None:
    ids = [{a.request_id for a in method(name, seed).initial().actions} for seed in (1, 2)]
    assert not ids[0] & ids[1]
