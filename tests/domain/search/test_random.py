from tests.covers import covers
from tests.domain.search.builders import SPACE, creates, random, single

from determined_master.domain.config.sections.hyperparameters import Const
from determined_master.domain.search.method import TrialCount, build
from determined_master.domain.search.simulate import SearchRun


def start(**overrides) -> SearchRun:
    run = SearchRun(build(random(**overrides), SPACE, 1))
    run.start()
    return run


@covers("experiment-config 6.random")
def test_as_many_trials_start_as_may_run_at_once() -> None:
    assert len(start(max_trials=20, max_concurrent_trials=4).trials) == 4
    assert len(start(max_trials=3, max_concurrent_trials=4).trials) == 3


@covers("experiment-config 5.max_concurrent_trials 6.random")
def test_no_limit_starts_all_trials() -> None:
    assert len(start(max_trials=20, max_concurrent_trials=0).trials) == 20


@covers("experiment-config 6.random")
def test_every_end_makes_room_for_the_next_until_all_are_made() -> None:
    run = start(max_trials=3, max_concurrent_trials=2)
    first, second = run.open_trials
    assert len(creates(run.end(first, "errored").actions)) == 1
    assert run.end(second, "user_canceled").actions == ()


@covers("experiment-config 6.random")
def test_an_invalid_trial_is_replaced() -> None:
    run = start(max_trials=2, max_concurrent_trials=2)
    for _ in range(5):
        assert len(creates(run.end(run.open_trials[0], "invalid_hp").actions)) == 1
    for request_id in run.open_trials:
        assert run.end(request_id, "clean").actions == ()


def test_a_space_without_valid_points_is_not_tried_forever() -> None:
    run = start(max_trials=2, max_concurrent_trials=2)
    while run.open_trials:
        run.end(run.open_trials[0], "invalid_hp")
    assert len(run.trials) == 2 + 120


@covers("experiment-config 6.single")
def test_a_single_trial_is_never_replaced() -> None:
    run = SearchRun(build(single(), {"lr": Const(0.1)}, 1))
    (trial,) = creates(run.start().actions)
    assert trial.hparams == {"lr": 0.1}
    assert run.end(trial.request_id, "invalid_hp").actions == ()


@covers("experiment-config 6.progress 6.nan_progress")
def test_progress_is_the_mean_of_the_trials_made() -> None:
    run = start()
    assert run.method.progress(run.state, run.memory, 0.4) == 0.4
    assert run.method.progress(run.state, run.memory, float("nan")) == 0


@covers("experiment-config 6.preview")
def test_preview_counts_the_trials() -> None:
    assert build(random(max_trials=7), SPACE, 1).preview() == (TrialCount(7),)
    assert build(single(), SPACE, 1).preview() == (TrialCount(1),)
