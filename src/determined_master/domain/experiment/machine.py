"""The life of an experiment: trials are created and stopped by its search, and counted.

It ends when every requested trial is closed. Once it stops, for any reason, the search gets no
more events.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import assert_never

from msgspec.structs import replace

from determined_master.domain.errors import FailedPrecondition, NotFound
from determined_master.domain.experiment import after_end, detached
from determined_master.domain.experiment.messages import (
    CloseExperiment,
    ContinueTrial,
    CreateTrial,
    DeletionRequested,
    DetachedTrialMoved,
    Experiment,
    ExperimentActivated,
    ExperimentCanceled,
    ExperimentContinued,
    ExperimentCreated,
    ExperimentDetached,
    ExperimentEffect,
    ExperimentEffectFailed,
    ExperimentErred,
    ExperimentEvent,
    ExperimentKilled,
    ExperimentPaused,
    ExperimentRemoved,
    GcEnded,
    GcLost,
    GcPlanned,
    GcWaits,
    GrowSearch,
    PlanDeletion,
    RemoveExperiment,
    SearchGrown,
    SignalTrials,
    StartGc,
    StopTrial,
    TrialEnded,
    ValidationReported,
)
from determined_master.domain.messages import by_tag
from determined_master.domain.search.decision import Create, SearchDecision, SearchError, Stop
from determined_master.domain.search.method import SearchContext
from determined_master.domain.search.records import SearchRecord
from determined_master.domain.states import ENDED, STOPPED_AS, STOPPING, RunState

Step = tuple[Experiment, list[ExperimentEffect | SearchRecord]]

_ORDERS: Mapping[str, type[ExperimentEffect]] = by_tag(ExperimentEffect)


def step(state: Experiment | None, event: ExperimentEvent, context: SearchContext) -> Step:
    """Advance one experiment by one event.

    Args:
        state: None before it is created.
        context: the search; its memory is read and never changed here: the code that stores the
            records among the effects applies them to it.

    Raises:
        NotFound: there is no such experiment, and the event does not make it.
        FailedPrecondition: an ended or stopping experiment cannot run or pause; nor can a detached
            one.
    """
    if isinstance(event, ExperimentCreated | ExperimentDetached):
        return _begin(state, event, context)
    if state is None:
        raise NotFound("there is no such experiment: it was never created")
    if state.is_detached and isinstance(event, detached.OwnEvent):
        return detached.step(state, event)
    match event:
        case (
            ExperimentActivated()
            | ExperimentPaused()
            | ExperimentCanceled()
            | ExperimentKilled()
            | ExperimentErred()
        ):
            return _steer(state, event)
        case ValidationReported() | SearchGrown() | TrialEnded():
            return _search(state, event, context)
        case ExperimentEffectFailed():
            return _effect_failed(state, event)
        case DetachedTrialMoved():
            return state, []  # only detached experiments receive it
        case _:
            return _after_the_end(state, event)


def _steer(
    state: Experiment,
    event: ExperimentActivated
    | ExperimentPaused
    | ExperimentCanceled
    | ExperimentKilled
    | ExperimentErred,
) -> Step:
    match event:
        case ExperimentActivated() | ExperimentPaused():
            return _run(state, event)
        case ExperimentCanceled():
            return _cancel(state)
        case ExperimentKilled():
            return _kill(state)
        case ExperimentErred():
            return _fail(state, event.reason)
        case _:
            assert_never(event)


def _search(
    state: Experiment, event: ValidationReported | SearchGrown | TrialEnded, context: SearchContext
) -> Step:
    match event:
        case ValidationReported():
            return _judge(state, event, context)
        case SearchGrown():
            return _grow(state, context)
        case TrialEnded():
            return _trial_ended(state, event, context)
        case _:
            assert_never(event)


def _after_the_end(
    state: Experiment,
    event: ExperimentContinued
    | DeletionRequested
    | GcPlanned
    | GcEnded
    | GcLost
    | GcWaits
    | ExperimentRemoved,
) -> Step:
    match event:
        case ExperimentContinued():
            return after_end.continue_ended(state, event)
        case DeletionRequested():
            return after_end.delete(state)
        case GcPlanned():
            return after_end.start_gc(state, event)
        case GcEnded():
            return after_end.gc_ended(state, event)
        case GcLost():
            return after_end.restart_gc(state, event)
        case GcWaits():
            return after_end.report_wait(state, event)
        case ExperimentRemoved():
            return after_end.removed(state)
        case _:
            assert_never(event)


def _begin(
    state: Experiment | None, event: ExperimentCreated | ExperimentDetached, context: SearchContext
) -> Step:
    if state is not None:
        return state, []
    if isinstance(event, ExperimentDetached):
        return detached.create(event)
    return _create(event, context)


def _create(event: ExperimentCreated, context: SearchContext) -> Step:
    state = Experiment(
        id=event.experiment_id,
        state="ACTIVE" if event.activate else "PAUSED",
        user_id=event.user_id,
    )
    if context.is_multitrial and not event.activate:
        return replace(state, is_growing=True, awaits_activation=True), []
    try:
        decision = context.method.initial()
    except SearchError as error:
        return _fail(state, str(error))
    return _settle(*_follow(state, decision))


def _run(state: Experiment, event: ExperimentActivated | ExperimentPaused) -> Step:
    is_to_run = isinstance(event, ExperimentActivated)
    verb = "activated" if is_to_run else "paused"
    to: RunState = "ACTIVE" if is_to_run else "PAUSED"
    if state.state in ENDED:
        raise FailedPrecondition(
            f"experiment in terminal state: experiment {state.id} is {state.state} and cannot be "
            f"{verb}; fork it to run it again"
        )
    if state.state in STOPPING:
        raise FailedPrecondition(
            f"experiment {state.id} is {state.state} and cannot be {verb}; wait for its end"
        )
    if state.state == to:
        return state, []
    effects: list[ExperimentEffect | SearchRecord] = [
        SignalTrials(signal="activate" if is_to_run else "pause")
    ]
    if is_to_run and state.awaits_activation:
        effects.append(GrowSearch())
    return replace(state, state=to, awaits_activation=False), effects


def _cancel(state: Experiment) -> Step:
    if state.state in ENDED or state.state in STOPPING:
        return state, []
    return _stop(state, "STOPPING_CANCELED", SignalTrials(signal="cancel"), "canceled by a user")


def _kill(state: Experiment) -> Step:
    """A repeated kill is sent to the trials again, even while it stops for an error."""
    if state.state in ENDED:
        return state, []
    if state.state in ("STOPPING_KILLED", "STOPPING_ERROR"):
        return state, [SignalTrials(signal="kill")]
    return _stop(state, "STOPPING_KILLED", SignalTrials(signal="kill"), "killed by a user")


def _fail(state: Experiment, reason: str) -> Step:
    if state.state in ENDED or state.state == "STOPPING_ERROR":
        return state, []
    signal = SignalTrials(signal="error", reason=reason)
    return _stop(state, "STOPPING_ERROR", signal, reason)


def _stop(state: Experiment, to: RunState, signal: SignalTrials, reason: str) -> Step:
    return _settle(replace(state, state=to, reason=reason), [signal])


def _judge(state: Experiment, event: ValidationReported, context: SearchContext) -> Step:
    if not _is_searching(state):
        return state, []
    try:
        decision = context.method.validation_completed(
            state.search,
            context.memory,
            event.request_id,
            event.metric,
            event.time,
            event.reported,
        )
    except SearchError as error:
        return _fail(state, str(error))
    return _settle(*_follow(_measure(state, context), decision))


def _grow(state: Experiment, context: SearchContext) -> Step:
    if not _is_searching(state) or not state.is_growing:
        return state, []
    if state.state == "PAUSED":
        return replace(state, awaits_activation=True), []
    method = context.method
    try:
        decision = (
            method.initial()
            if state.search is None
            else method.create_more(state.search, context.memory)
        )
    except SearchError as error:
        return _fail(state, str(error))
    return _settle(*_follow(replace(state, is_growing=False), decision))


def _trial_ended(state: Experiment, event: TrialEnded, context: SearchContext) -> Step:
    if state.state in ENDED:
        return state, []
    counted = replace(
        state,
        trials_closed=state.trials_closed + 1,
        trials_failed=state.trials_failed + (event.end == "errored"),
        trials_canceled=state.trials_canceled + (event.end == "user_canceled"),
    )
    if not _is_searching(state):
        return _settle(counted, [])
    try:
        decision = context.method.trial_ended(
            state.search, context.memory, event.request_id, event.end
        )
    except SearchError as error:
        return _fail(counted, str(error))
    return _settle(*_follow(_measure(counted, context), decision))


def _effect_failed(state: Experiment, event: ExperimentEffectFailed) -> Step:
    """An order that cannot be carried out ends the experiment.

    A trial that could not be created counts as closed: nothing else will close it.
    """
    reason = f"the order {event.effect} could not be carried out: {event.error}"
    order = _ORDERS.get(event.effect)
    if order is None or issubclass(order, (StopTrial, GrowSearch, SignalTrials)):
        return _fail_or_settle(state, reason)
    if issubclass(order, StartGc):
        return after_end.gc_ended(state, GcEnded(task_id=event.task_id, error=reason))
    if issubclass(order, (PlanDeletion, RemoveExperiment)):
        return after_end.fail_deletion(state, reason)
    if issubclass(order, CloseExperiment):
        return state, []
    if issubclass(order, (CreateTrial, ContinueTrial)):
        done = "created" if issubclass(order, CreateTrial) else "continued"
        reason = f"trial {event.request_id} could not be {done}: {event.error}"
        return _fail_or_settle(state, reason, lost_trials=1)
    assert_never(order)


def _fail_or_settle(state: Experiment, reason: str, lost_trials: int = 0) -> Step:
    if state.state in ENDED:
        return state, []
    counted = replace(
        state,
        trials_closed=state.trials_closed + lost_trials,
        trials_failed=state.trials_failed + lost_trials,
    )
    if counted.state == "STOPPING_ERROR":
        return _settle(counted, [])
    return _fail(counted, reason)


def _is_searching(state: Experiment) -> bool:
    return state.state in ("ACTIVE", "PAUSED")


def _measure(state: Experiment, context: SearchContext) -> Experiment:
    """Record the progress; that of an event itself shows with the next one.

    A trial that failed or was canceled is no progress.
    """
    done = state.trials_closed - state.trials_failed - state.trials_canceled
    share = max(done, 0) / max(state.trials_requested, 1)
    return replace(state, progress=context.method.progress(state.search, context.memory, share))


def _follow(state: Experiment, decision: SearchDecision) -> Step:
    """Convert the search's decision into records, effects and the count of trials.

    Postponed work is requested only once.
    """
    effects: list[ExperimentEffect | SearchRecord] = [*decision.records]
    created = 0
    for action in decision.actions:
        match action:
            case Create():
                created += 1
                effects.append(
                    CreateTrial(
                        request_id=action.request_id, seed=action.seed, hparams=action.hparams
                    )
                )
            case Stop():
                effects.append(StopTrial(request_id=action.request_id))
            case _:
                assert_never(action)
    if decision.has_more and not state.is_growing:
        effects.append(GrowSearch())
    after = replace(
        state,
        trials_requested=state.trials_requested + created,
        search=decision.state,
        is_growing=state.is_growing or decision.has_more,
    )
    return after, effects


def _settle(state: Experiment, effects: list[ExperimentEffect | SearchRecord]) -> Step:
    """Close the experiment when every requested trial is closed."""
    is_growing = _is_searching(state) and state.is_growing
    if state.trials_closed < state.trials_requested or is_growing:
        return state, effects
    stopping, reason = _outcome(state)
    final = STOPPED_AS[stopping]
    # No trial is left that could receive the report.
    others = [e for e in effects if not isinstance(e, SignalTrials)]
    return replace(state, state=final, reason=reason), [*others, CloseExperiment(state=final)]


def _outcome(state: Experiment) -> tuple[RunState, str]:
    """What an experiment without open trials stops as, and why.

    It is an error only when all trials failed: one completed trial is a result.
    """
    if state.state in STOPPING:
        return state.state, state.reason
    requested = state.trials_requested
    if requested and state.trials_failed >= requested:
        return "STOPPING_ERROR", f"all of its trials failed ({requested})"
    if requested and state.trials_canceled >= requested:
        return "STOPPING_CANCELED", "all of its trials were killed by users"
    return "STOPPING_COMPLETED", state.reason
