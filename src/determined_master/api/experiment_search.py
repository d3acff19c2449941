"""The route that finds experiments by the search language."""

from __future__ import annotations

import msgspec

from determined_master.api.experiments import listed_text, render_listed
from determined_master.api.protojson import ready, to_json
from determined_master.api.routes import Call, route
from determined_master.api.shapes import pagination
from determined_master.api.shapes_trials import trial_message
from determined_master.services.experiment_search import FoundExperiment
from determined_master.services.runs import Search
from determined_wire.rest import experiments as wire


@route("POST", "/api/v1/experiments-search")
async def search_experiments(
    call: Call, request: wire.SearchExperimentsRequest
) -> wire.SearchExperimentsResponse:
    """Experiments that match a filter of the search language, a page of them."""
    search = Search(
        request.project_id, request.filter, request.sort, request.offset, request.limit
    )
    found = await call.services.experiment_search.search(call.caller, search, render_listed)
    return wire.SearchExperimentsResponse(
        experiments=[_item(call, item) for item in found.items],
        pagination=pagination(found.page),
    )


def _item(call: Call, item: FoundExperiment) -> wire.SearchExperimentExperiment:
    best_id = item.listed.best_trial_id
    more = b"" if best_id is None else b',"bestTrialId":%d' % best_id
    experiment = listed_text(call, item.listed, item.rendered.always + more)
    best = b"null"
    if item.best is not None:
        best = msgspec.json.encode(to_json(trial_message(item.best)))
    text = b'{"experiment":%s,"bestTrial":%s}' % (experiment, best)
    return ready(wire.SearchExperimentExperiment, text)
