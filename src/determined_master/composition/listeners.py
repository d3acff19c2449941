"""Updates of memory after each committed event."""

from __future__ import annotations

from typing import TYPE_CHECKING

from determined_master.aggregates.allocations import ALLOCATION
from determined_master.aggregates.experiments import EXPERIMENT
from determined_master.aggregates.generic_tasks import GENERIC_TASK
from determined_master.aggregates.interactive_tasks import INTERACTIVE_TASK
from determined_master.aggregates.trials import TRIAL
from determined_master.domain.states import TERMINAL
from determined_master.domain.webhooks.events import WATCHED_STATES
from determined_master.services.experiments.effects import growth_topic

if TYPE_CHECKING:
    from determined_master.composition.core_services import CoreServices
    from determined_master.domain.allocation.messages import Allocation
    from determined_master.domain.experiment.messages import Experiment
    from determined_master.domain.generic_task.messages import GenericTask
    from determined_master.domain.interactive_task.messages import InteractiveTask
    from determined_master.domain.trial.messages import Trial
    from determined_master.engine import Changed
    from determined_master.services.tasks.proxies import Proxies


class Listeners:
    """Keeps the live allocations, and notifies log followers and the live channel."""

    def __init__(self, base: CoreServices, proxies: Proxies) -> None:
        self._live = base.live
        self._logs = base.logs
        self._identities = base.identities
        self._tokens = base.tokens
        self._deliveries = base.deliveries
        self._proxies = proxies
        self._news = base.news
        self._engine = base.engine
        self._feed = base.engine.feed

    def listen(self) -> None:
        """Receive commits from now on."""
        self._feed.listen(ALLOCATION, self._on_allocation)
        self._feed.listen(EXPERIMENT, self._on_experiment)
        self._feed.listen(TRIAL, self._on_trial)
        self._feed.listen(GENERIC_TASK, self._on_generic_task)
        self._feed.listen(INTERACTIVE_TASK, self._on_interactive_task)

    def _on_allocation(self, change: Changed[Allocation]) -> None:
        self._live.changed(change.state, change.version)
        request = change.state.request
        self._logs.notify(request.task_id)
        if request.trial_id is not None:
            self._news.trial(request.trial_id, request.experiment_id)
        if request.experiment_id is not None:
            self._news.experiment(request.experiment_id)
            if change.state.state in ("ASSIGNED", "TERMINATED"):
                self._engine.retry_deferred(growth_topic(request.experiment_id))
        else:
            self._news.task(request.task_id)
        self._news.agents(container.agent_id for container in change.state.containers)
        if change.state.state == "TERMINATED":
            self._identities.forget_allocation(change.id)
            self._identities.forget_token(self._tokens.user_token(change.id))
            self._proxies.ended(change.id, change.state.request.task_id)

    def _on_experiment(self, change: Changed[Experiment]) -> None:
        self._news.experiment(change.state.id, change.state.state)
        if change.state.state in WATCHED_STATES:
            self._deliveries.wake()
        if change.state.is_growing:
            self._engine.retry_deferred(growth_topic(change.state.id))

    def _on_trial(self, change: Changed[Trial]) -> None:
        self._news.trial(change.state.id, change.state.experiment_id)
        if change.state.state in TERMINAL:  # its task has ended: its logs may be complete
            self._logs.notify(change.state.task_id)

    def _on_generic_task(self, change: Changed[GenericTask]) -> None:
        self._news.task(change.id)
        if change.state.state in TERMINAL:
            self._logs.notify(change.id)

    def _on_interactive_task(self, change: Changed[InteractiveTask]) -> None:
        self._news.task(change.id)
        if change.state.state == "OVER":
            self._logs.notify(change.id)
