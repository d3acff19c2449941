"""The experiment's machine over a real search."""

from collections import Counter

from tests.domain.builders import of_type
from tests.domain.world import through_json

from determined_master.domain.config.sections.hyperparameters import Double
from determined_master.domain.config.sections.searcher import AdaptiveAsha
from determined_master.domain.experiment import messages as e
from determined_master.domain.experiment.machine import step
from determined_master.domain.search.memory import SearchMemory
from determined_master.domain.search.method import SearchContext, build
from determined_master.domain.search.records import BracketMember, RungEntry


def test_an_adaptive_search_of_16_trials_stops_some_and_closes_each_once() -> None:
    searcher = AdaptiveAsha(
        metric="loss", max_trials=16, max_concurrent_trials=4, max_time=16, time_metric="epochs"
    )
    context = SearchContext(
        method=build(searcher, {"lr": Double(minval=0.0, maxval=1.0)}, seed=1),
        memory=SearchMemory(),
    )
    waiting: list[e.CreateTrial] = []
    stopped: set[str] = set()
    ends: Counter[str] = Counter()
    state, progress = None, 0.0

    def tell(event: e.ExperimentEvent) -> None:
        nonlocal state
        state, effects = step(state, event, context)
        state = through_json(state, e.Experiment)
        for record in of_type(effects, (RungEntry, BracketMember)):
            context.memory.apply(record)
        waiting.extend(of_type(effects, e.CreateTrial))
        stopped.update(order.request_id for order in of_type(effects, e.StopTrial))

    tell(e.ExperimentCreated(experiment_id=7, activate=True))
    while waiting:
        trial = waiting.pop(0)
        for epoch in range(1, 17):
            if trial.request_id in stopped:
                break
            metric = trial.hparams["lr"] / epoch
            tell(e.ValidationReported(request_id=trial.request_id, metric=metric, time=epoch))
        ends[trial.request_id] += 1
        tell(e.TrialEnded(request_id=trial.request_id, end="clean"))
        assert progress <= state.progress <= 1
        progress = state.progress
    assert state is not None
    assert progress > 0.9
    assert (state.state, state.trials_requested, state.trials_closed) == ("COMPLETED", 16, 16)
    assert set(ends.values()) == {1}
    assert len(stopped) >= 4
