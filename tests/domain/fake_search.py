"""A search of a fixed plan that passes for a method: it makes, stops and replaces trials."""

from __future__ import annotations

from typing import Any

from determined_master.domain.search.decision import Create, SearchDecision, SearchError, Stop
from determined_master.domain.search.memory import SearchMemory
from determined_master.domain.search.method import SearchContext
from determined_master.domain.search.records import RungEntry, TrialEnd


class FakeSearch:
    """`first` trials at once, one more at each end until there were `total`.

    A validation above `bar` stops its trial and leaves a record.
    """

    def __init__(self, first: int = 2, total: int = 2, bar: float = 0.5) -> None:
        self.first, self.total, self.bar = first, total, bar
        self.asked: list[str] = []

    def initial(self) -> SearchDecision:
        if self.total < 0:
            raise SearchError("the grid has no points")
        return SearchDecision(
            state={"made": self.first}, actions=tuple(self._create(i) for i in range(self.first))
        )

    def validation_completed(
        self,
        state: Any,
        memory: SearchMemory,
        request_id: str,
        metric: float | None,
        time: float | None,
        reported: tuple[str, ...],
    ) -> SearchDecision:
        self.asked.append(f"validation {request_id}")
        if metric is None:
            raise SearchError(f"the report of {', '.join(reported)} lacks the metric 'loss'")
        entry = RungEntry(bracket=0, rung=0, request_id=request_id, metric=metric)
        if metric <= self.bar:
            return SearchDecision(state=state, records=(entry,))
        return SearchDecision(state=state, actions=(Stop(request_id),), records=(entry,))

    def trial_ended(
        self, state: Any, memory: SearchMemory, request_id: str, end: TrialEnd
    ) -> SearchDecision:
        self.asked.append(f"end {request_id} {end}")
        made = state["made"]
        if made >= self.total:
            return SearchDecision(state=state)
        return SearchDecision(state={"made": made + 1}, actions=(self._create(made),))

    def go_on(self, state: Any, memory: SearchMemory) -> SearchDecision:
        return SearchDecision(state=state)

    def progress(self, state: Any, memory: SearchMemory, trial_progress: float) -> float:
        return trial_progress

    def preview(self) -> tuple[Any, ...]:
        return ()

    @staticmethod
    def _create(number: int) -> Create:
        return Create(request_id=f"r{number}", seed=number, hparams={"n": number})


def context(first: int = 2, total: int = 2, bar: float = 0.5) -> SearchContext:
    return SearchContext(method=FakeSearch(first, total, bar), memory=SearchMemory())
