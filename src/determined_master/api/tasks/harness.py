"""Where tasks fetch what runs inside them."""

from __future__ import annotations

from determined_master.api.http.access import SIGNED_IN, of_task
from determined_master.api.http.routes import Call, Reply, plain_route
from determined_master.api.http.task_use import REPORTS
from determined_master.services.containers.harness import Harness


@plain_route("GET", "/task/harness.tar.gz", access=SIGNED_IN, task=of_task(), in_task=REPORTS)
async def get_harness(call: Call, harness: Harness) -> Reply:
    """The task's side of the platform as an archive; it is the same for everybody."""
    return Reply(await harness.archive(), content_type="application/gzip")


@plain_route(
    "GET", "/task/storage-client/{machine}", access=SIGNED_IN, task=of_task(), in_task=REPORTS
)
async def get_storage_client(call: Call, harness: Harness) -> Reply:
    """The client of buckets as an archive, for tasks in images without one."""
    content = await harness.storage_client(call.parameters["machine"])
    return Reply(content, content_type="application/gzip")
