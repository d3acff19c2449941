"""Use cases of metrics: reporting them and reading them back."""

from __future__ import annotations

import math
import sys
from collections import OrderedDict
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from itertools import groupby
from typing import TYPE_CHECKING, Any, Literal

from determined_master.aggregates.experiments import EXPERIMENT
from determined_master.domain.access import rules as access
from determined_master.domain.config.sections.searcher import searcher_type
from determined_master.domain.errors import PASSING, DetError, InvalidArgument, NotFound
from determined_master.domain.experiment.messages import ValidationReported
from determined_master.domain.ids import ExperimentId
from determined_master.domain.metrics.limits import find_problem
from determined_master.domain.metrics.summary import SYSTEM_GROUPS, as_number
from determined_master.engine import Rows
from determined_master.engine.causes import Occurrence
from determined_master.records.metrics import StoredReport, SystemSample
from determined_master.services.metrics.flush import Flusher, publish_report
from determined_master.services.metrics.reports import MetricReport, TrialFacts
from determined_master.services.metrics.system_metrics import MAX_SAMPLES
from determined_master.services.updates.live.news import LiveNews
from determined_master.store.batch_loader import BatchLoader
from determined_master.store.metrics import metrics as rows
from determined_master.store.metrics import system_metrics
from determined_wire.bounds import bound_of

if TYPE_CHECKING:
    import asyncpg

    from determined_master.domain.access.rules import Caller
    from determined_master.engine import Engine
    from determined_master.services.metrics.system_metrics import SystemMetrics

MAX_KNOWN_TRIALS = 20_000
MAX_BULK_REPORTS = bound_of("ReportTrialMetricsBatchRequest", "reports").items


class Metrics:
    """Reports of trials."""

    def __init__(
        self,
        engine: Engine,
        db: asyncpg.Pool,
        flusher: Flusher,
        samples: SystemMetrics,
        note_report: Callable[[int], Awaitable[None]],
        news: LiveNews | None = None,
    ) -> None:
        """
        Args:
            note_report: gets the ids of detached trials that report.
            news: gets each stored report.
        """
        self._news = news or LiveNews()
        self._samples = samples
        self._engine = engine
        self._db = db
        self._flusher = flusher
        self._note_report = note_report
        self._facts: OrderedDict[int, TrialFacts] = OrderedDict()
        self._look_up = BatchLoader(self._fetch_facts)

    async def report(self, caller: Caller, report: MetricReport) -> None:
        """Store one report; returns after its commit.

        Raises:
            NotFound: there is no such trial.
            InvalidArgument: the group's name, the run's number or a value is wrong.
            FailedPrecondition: the step is already reported with other values.
        """
        facts = await self._checked(caller, report)
        problem = find_problem(report.group, report.metrics, report.batch_metrics)
        if problem is not None:
            raise problem
        if report.is_sample:
            await self._samples.report(caller, [_sample(report)])
        elif report.group == "validation" and facts.wants_validations:
            await self._report_to_search(report, facts)
        else:
            await self._flusher.report(report, facts)

    async def report_many(
        self, caller: Caller, reports: Sequence[MetricReport]
    ) -> list[DetError | None]:
        """Store up to 1,000 reports of one trial; one answer for each.

        Raises:
            DetError: of another kind than a refusal. Nothing is wrong with the reports, and all
                of them may be sent again.
        """
        if len(reports) > MAX_BULK_REPORTS:
            raise InvalidArgument(
                f"{len(reports)} reports in one request: at most {MAX_BULK_REPORTS}, split it"
            )
        if len(trial_ids := {r.trial_id for r in reports}) > 1:
            raise InvalidArgument(
                f"all reports of one request must be of one trial: these are of {len(trial_ids)}, "
                "send a request for each"
            )
        if not reports:
            return []
        facts = await self._checked(caller, reports[0])
        answers: list[DetError | None] = []
        for way, group in groupby(reports, key=lambda report: _way(report, facts)):
            some = list(group)
            if way == "store":
                answers += await self._flusher.report_many(some, facts)
            elif way == "sample":
                await self._samples.report(caller, [_sample(report) for report in some])
                answers += [None] * len(some)
            else:
                answers += [await self._answer(report, facts) for report in some]
        return answers

    async def stream(
        self, caller: Caller, trial_ids: Sequence[int], group: str, size: int = 1000
    ) -> AsyncIterator[list[StoredReport]]:
        """Pages of about `size` reports of a group that count, by trial and order of arrival."""
        if not trial_ids:
            raise InvalidArgument("must specify at least one trial id")
        for trial_id in trial_ids:
            await self.facts(trial_id)
        access.may(caller, "read", "experiment")
        gathered: list[StoredReport] = []
        for trial_id in trial_ids:
            after: int | None = 0
            while after is not None:
                async with self._db.acquire() as conn:
                    page = await rows.list_reports(conn, trial_id, group, after=after, limit=size)
                gathered += page
                after = page[-1].id if len(page) == size else None
                if len(gathered) >= size:
                    yield gathered
                    gathered = []
            if group in SYSTEM_GROUPS:
                gathered += await self._sampled(trial_id, group)
        if gathered:
            yield gathered

    async def _sampled(self, trial_id: int, group: str) -> list[StoredReport]:
        async with self._db.acquire() as conn:
            found = await system_metrics.list_samples(
                conn, trial_id, group, after=0, limit=MAX_SAMPLES
            )
        return [
            StoredReport(
                id=sample.id,
                trial_id=trial_id,
                metric_group=group,
                steps=sample.batch,
                run_id=sample.run_id,
                reported_at=sample.reported_at,
                metrics=sample.metrics,
                batch_metrics=None,
                archived=False,
            )
            for sample in found
        ]

    async def facts(self, trial_id: int) -> TrialFacts:
        """What matters of a trial for its reports; remembered."""
        known = self._facts.get(trial_id)
        if known is not None:
            return known
        facts = await self._look_up.find(trial_id)
        if facts is None:
            raise NotFound(f"trial '{trial_id}' not found")
        self._facts[trial_id] = facts
        if len(self._facts) > MAX_KNOWN_TRIALS:
            self._facts.popitem(last=False)
        return facts

    async def _fetch_facts(self, trial_ids: Sequence[int]) -> dict[int, TrialFacts]:
        async with self._db.acquire() as conn:
            found = await rows.list_reporters(conn, trial_ids)
        return {
            row.id: TrialFacts(
                experiment_id=row.experiment_id,
                request_id=row.request_id,
                searcher_metric=row.searcher_metric,
                smaller_is_better=row.smaller_is_better,
                wants_validations=not row.unmanaged
                and searcher_type(row.searcher_type).wants_validations,
                time_metric=row.time_metric,
                is_detached=row.unmanaged,
            )
            for row in found
        }

    async def _checked(self, caller: Caller, report: MetricReport) -> TrialFacts:
        access.may(caller, "report", "task")
        facts = await self.facts(report.trial_id)
        if facts.is_detached:
            await self._note_report(report.trial_id)
        return facts

    async def _answer(self, report: MetricReport, facts: TrialFacts) -> DetError | None:
        problem = find_problem(report.group, report.metrics, report.batch_metrics)
        if problem is not None:
            return problem
        try:
            await self._report_to_search(report, facts)
        except DetError as error:
            if error.code in PASSING:  # as an answer, it would look like a refusal
                raise
            return error
        return None

    async def _report_to_search(self, report: MetricReport, facts: TrialFacts) -> None:
        """Row, trial and the event for the search commit together, once."""
        metric = _judged(as_number(report.metrics.get(facts.searcher_metric)), facts)
        time = as_number(report.metrics.get(facts.time_metric)) if facts.time_metric else None
        event = ValidationReported(
            request_id=facts.request_id,
            metric=metric,
            time=time,
            reported=tuple(sorted(report.metrics)[:20]),
        )

        cause = Occurrence("validation", f"{report.trial_id}:{report.run_id}:{report.steps}")
        rows_of = Rows(self._flusher.store, (report, facts), [report.trial_id])
        try:
            outcome = await self._engine.post(
                EXPERIMENT, ExperimentId(facts.experiment_id), event, cause=cause, within=rows_of
            )
        except BaseException:
            self._flusher.summaries.forget([report.trial_id])
            raise
        if outcome.is_duplicate:
            await self._flusher.report(report, facts)  # settles equal, added or clashing values
        else:
            publish_report(self._news, report, facts)


def _way(report: MetricReport, facts: TrialFacts) -> Literal["store", "sample", "alone"]:
    """Where a report of a request with many goes; what goes the same way goes together."""
    if find_problem(report.group, report.metrics, report.batch_metrics) is not None:
        return "alone"  # to be refused
    if report.is_sample:
        return "sample"
    is_for_search = report.group == "validation" and facts.wants_validations
    return "alone" if is_for_search else "store"


def _sample(report: MetricReport) -> SystemSample:
    return SystemSample(
        trial_id=report.trial_id,
        run_id=report.run_id,
        metric_group=report.group,
        reported_at=report.reported_at,
        metrics=dict(report.metrics),
    )


def _judged(value: float | None, facts: TrialFacts) -> float | None:
    """The value with the sign that makes smaller better, as JSON can say it.

    Not-a-number is the worst of all; so are the infinities the largest finite numbers.
    """
    if value is None:
        return None
    if math.isnan(value):
        return sys.float_info.max
    signed = value if facts.smaller_is_better else -value
    return min(max(signed, -sys.float_info.max), sys.float_info.max)


def as_stored(group: str, row: StoredReport) -> dict[str, Any]:
    """A report's values in the form that clients read them in."""
    if group == "validation":
        return {"validation_metrics": row.metrics}
    return {"avg_metrics": row.metrics, "batch_metrics": row.batch_metrics}
