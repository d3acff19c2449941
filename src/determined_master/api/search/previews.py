"""The route that previews a search."""

from __future__ import annotations

import asyncio

from determined_master.api.http.access import SIGNED_IN
from determined_master.api.http.routes import Call, route
from determined_master.api.http.task_use import READS
from determined_master.api.shapes import add_config_warnings
from determined_master.domain.search.decision import TrialCount
from determined_master.services.search.previews import SearchPreviews
from determined_wire.rest.experiments import PreviewHPSearchRequest, PreviewHPSearchResponse
from determined_wire.rest.types.experiment import SearchSummary, SearchUnit, TrialSummary


@route("POST", "/api/v1/preview-hp-search", submission=True, access=SIGNED_IN, in_task=READS)
async def preview_search(
    call: Call, request: PreviewHPSearchRequest, search_previews: SearchPreviews
) -> PreviewHPSearchResponse:
    """How many trials a search makes, and how long each trains if the search lets it."""
    preview = search_previews.preview
    found = await asyncio.to_thread(preview, call.caller, request.config, request.seed)
    add_config_warnings(call.http, found.warnings)
    summary = SearchSummary(
        config=found.searcher,
        trials=[TrialSummary(count=t.count, unit=_unit(t)) for t in found.trials],
    )
    return PreviewHPSearchResponse(summary=summary)


def _unit(trial: TrialCount) -> SearchUnit:
    if trial.unit is None:
        return SearchUnit(max_length=True)
    return SearchUnit(name=trial.unit, value=trial.value)
