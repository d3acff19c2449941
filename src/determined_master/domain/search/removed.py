"""The search of an experiment whose method this release lacks."""

from __future__ import annotations

from typing import Any, NoReturn

from determined_master.domain.search.decision import SearchDecision, SearchError, TrialCount
from determined_master.domain.search.memory import SearchMemory
from determined_master.domain.search.records import TrialEnd


class RemovedSearch:
    """Decides nothing: running trials end with the reason, ended ones stay readable."""

    def __init__(self, name: str) -> None:
        self._name = name

    def initial(self) -> SearchDecision:
        self._refuse()

    def validation_completed(
        self,
        state: Any,
        memory: SearchMemory,
        request_id: str,
        metric: float | None,
        time: float | None,
        reported: tuple[str, ...],
    ) -> SearchDecision:
        self._refuse()

    def trial_ended(
        self, state: Any, memory: SearchMemory, request_id: str, end: TrialEnd
    ) -> SearchDecision:
        self._refuse()

    def create_more(self, state: Any, memory: SearchMemory) -> SearchDecision:
        self._refuse()

    def progress(self, state: Any, memory: SearchMemory, trial_progress: float) -> float:
        """Unknown, so 0."""
        return 0.0

    def preview(self) -> tuple[TrialCount, ...]:
        self._refuse()

    def _refuse(self) -> NoReturn:
        raise SearchError(
            f"the search method {self._name} has been removed: this experiment's search cannot "
            "continue; start a new experiment with another searcher"
        )
