"""A search without a limit makes its trials in portions, so that no decision is too large."""

import msgspec
import pytest
from tests.covers import covers
from tests.domain.builders import of_type
from tests.domain.search import builders
from tests.domain.world import through_json

from determined_master.domain.config.sections.hyperparameters import Int
from determined_master.domain.config.sections.searcher import SearcherConfig
from determined_master.domain.experiment import messages as e
from determined_master.domain.experiment.machine import step
from determined_master.domain.search.decision import MAX_CREATED
from determined_master.domain.search.method import SearchContext, SearchMemory, build
from determined_master.domain.search.records import BracketMember, RungEntry
from determined_master.domain.search.simulate import SearchRun

TRIALS = 2 * MAX_CREATED + MAX_CREATED // 2
SPACE = {"x": Int(minval=1, maxval=TRIALS, count=TRIALS)}
UNLIMITED = {
    "random": builders.random(max_trials=TRIALS, max_concurrent_trials=0),
    "grid": builders.grid(max_concurrent_trials=0),
    "async_halving": builders.halving(max_trials=TRIALS, max_concurrent_trials=TRIALS),
}


@pytest.fixture(params=UNLIMITED)
def searcher(request: pytest.FixtureRequest) -> SearcherConfig:
    return UNLIMITED[request.param]


def test_one_decision_makes_a_bounded_number_and_says_that_more_are_due(searcher) -> None:
    decision = build(searcher, SPACE, 1).initial()
    assert len(decision.actions) == MAX_CREATED
    assert decision.has_more


@covers("experiment-config 5.max_concurrent_trials")
def test_in_portions_all_trials_are_made_and_each_once(searcher) -> None:
    run = SearchRun(build(searcher, SPACE, 1))
    run.start()
    assert len(run.trials) == TRIALS
    assert not run.method.create_more(run.state, run.memory).actions


def test_a_restart_between_portions_changes_no_byte(searcher) -> None:
    first, other = build(searcher, SPACE, 1), build(searcher, SPACE, 1)
    started = first.initial()
    stored = msgspec.json.decode(msgspec.json.encode(started.state))
    memory = SearchMemory()
    for record in started.records:
        memory.apply(record)
    assert other.create_more(stored, memory) == first.create_more(started.state, memory)


def test_a_trial_that_ends_between_portions_takes_the_place_of_none(searcher) -> None:
    method, memory = build(searcher, SPACE, 1), SearchMemory()
    made: list[str] = []

    def take(decision):
        for record in decision.records:
            memory.apply(record)
        made.extend(a.request_id for a in builders.creates(decision.actions))
        return decision

    decision = take(method.initial())
    decision = take(method.trial_ended(decision.state, memory, made[0], "errored"))
    while decision.has_more:
        decision = take(method.create_more(decision.state, memory))
    assert len(set(made)) == len(made) == TRIALS


def test_an_experiment_asks_for_the_next_portion_after_the_trials_of_the_one_before(
    searcher,
) -> None:
    context = SearchContext(method=build(searcher, SPACE, 1), memory=SearchMemory())
    state, made, asked = None, [], 0
    event: e.ExperimentEvent = e.ExperimentCreated(experiment_id=7, activate=True)
    while True:
        state, effects = step(state, event, context)
        state = through_json(state, e.Experiment)
        for record in of_type(effects, (RungEntry, BracketMember)):
            context.memory.apply(record)
        made += of_type(effects, e.CreateTrial)
        grow = of_type(effects, e.GrowSearch)
        if not grow:
            break
        orders = of_type(effects, (e.CreateTrial, e.GrowSearch))
        assert orders[-1] == grow[0]
        asked += 1
        event = e.SearchGrown()
    assert (len(made), asked, state.is_growing) == (TRIALS, 2, False)


def test_an_experiment_is_not_over_while_trials_are_still_to_be_made() -> None:
    context = SearchContext(build(UNLIMITED["random"], SPACE, 1), SearchMemory())
    created = e.ExperimentCreated(experiment_id=7, activate=True)
    state, effects = step(None, created, context)
    for trial in of_type(effects, e.CreateTrial):
        ended = e.TrialEnded(request_id=trial.request_id, end="clean")
        state, _ = step(state, ended, context)
    assert state.state == "ACTIVE"
    state, effects = step(state, e.ExperimentCanceled(), context)
    assert state.state in ("STOPPING_CANCELED", "CANCELED")
    assert step(state, e.SearchGrown(), context) == (state, [])


def test_a_continued_experiment_asks_again_for_what_its_end_had_cut_off() -> None:
    context = SearchContext(build(UNLIMITED["random"], SPACE, 1), SearchMemory())
    state, effects = step(None, e.ExperimentCreated(experiment_id=7, activate=True), context)
    trials = of_type(effects, e.CreateTrial)
    state, _ = step(state, e.ExperimentKilled(), context)
    for trial in trials:
        state, _ = step(state, e.TrialEnded(trial.request_id, "user_canceled"), context)
    assert state.state == "CANCELED"
    again = e.ExperimentContinued(request_ids=(trials[0].request_id,), canceled=1)
    state, effects = step(state, again, context)
    assert of_type(effects, e.GrowSearch) == [e.GrowSearch()]
    state, effects = step(state, e.SearchGrown(), context)
    assert len(of_type(effects, e.CreateTrial)) == MAX_CREATED


def paused() -> tuple[e.Experiment, SearchContext]:
    """A search of several trials that is not activated."""
    context = SearchContext(build(UNLIMITED["random"], SPACE, 1), SearchMemory(), True)
    created = e.ExperimentCreated(experiment_id=7, activate=False)
    state, effects = step(None, created, context)
    assert effects == []
    return state, context


def test_a_search_that_is_not_activated_creates_no_trial() -> None:
    state, context = paused()
    assert (state.state, state.trials_requested) == ("PAUSED", 0)
    state, effects = step(state, e.ExperimentActivated(), context)
    assert effects == [e.SignalTrials(signal="activate"), e.GrowSearch()]
    state, effects = step(state, e.SearchGrown(), context)
    assert len(of_type(effects, e.CreateTrial)) == MAX_CREATED


def test_a_search_that_was_never_activated_ends_at_once() -> None:
    state, context = paused()
    state, effects = step(state, e.ExperimentKilled(), context)
    assert (state.state, effects) == ("CANCELED", [e.CloseExperiment(state="CANCELED")])


def test_a_paused_search_creates_more_trials_when_it_is_activated() -> None:
    state, context = paused()
    state, _ = step(state, e.ExperimentActivated(), context)
    state, _ = step(state, e.ExperimentPaused(), context)
    state, effects = step(state, e.SearchGrown(), context)
    assert effects == []
    state, effects = step(state, e.ExperimentActivated(), context)
    assert of_type(effects, e.GrowSearch) == [e.GrowSearch()]
    state, effects = step(state, e.ExperimentPaused(), context)
    state, effects = step(state, e.ExperimentActivated(), context)
    assert of_type(effects, e.GrowSearch) == [], "the order is still open"
