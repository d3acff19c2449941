"""Routes of tensorboards."""

from __future__ import annotations

from typing import Any

from determined_master.api.experiments.bulk import bulk_filter
from determined_master.api.http.access import maybe
from determined_master.api.http.routes import Call
from determined_master.api.tasks.interactive import launch_of
from determined_master.api.tasks.interactive_routes import InteractiveTaskKind, routes_of_kind
from determined_master.records.tasks import ListedTask
from determined_master.services.tasks.interactive_tasks import InteractiveTasks, Launched
from determined_master.services.tasks.tensorboards import Shown, Tensorboards
from determined_wire.rest import tensorboards as wire
from determined_wire.rest.types.tensorboard import Tensorboard


async def _start(
    call: Call, request: wire.LaunchTensorboardRequest, tensorboards: Tensorboards
) -> Launched:
    filters = request.filters
    wanted = Shown(
        experiment_ids=request.experiment_ids,
        trial_ids=request.trial_ids,
        filter=None if filters is None else bulk_filter(filters),
    )
    new = launch_of("TENSORBOARD", request)
    return await tensorboards.launch(call.caller, new, wanted)


def _sources(call: Call, row: ListedTask, tasks: InteractiveTasks) -> dict[str, Any]:
    return {
        "service_address": f"/proxy/{row.id}/",
        "experiment_ids": row.experiment_ids,
        "trial_ids": row.trial_ids,
    }


(
    launch_tensorboard,
    get_tensorboards,
    get_tensorboard,
    kill_tensorboard,
    set_tensorboard_priority,
) = routes_of_kind(
    InteractiveTaskKind(
        kind="TENSORBOARD",
        word="tensorboard",
        message=Tensorboard,
        starts_from=(
            maybe("experiment", "experiment_ids", "read", "checkpoint"),
            maybe("trial", "trial_ids", "read", "checkpoint"),
        ),
        starts="Start TensorBoard on the events of experiments and trials.",
        start=_start,
        more=_sources,
    )
)
