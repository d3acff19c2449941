"""An API of a few routes that say what reached them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any, TypeVar, cast

import asyncpg

from determined_master.api.app import Api
from determined_master.api.http.access import SIGNED_IN, of_task
from determined_master.api.http.routes import Call, plain_route, route, socket_route, stream_route
from determined_master.api.table import all_routes
from determined_master.domain.access.rules import Caller, TaskScope
from determined_master.domain.errors import FailedPrecondition, InvalidArgument
from determined_master.pools.live import LiveAllocations
from determined_master.ports.agents import WebSocket
from determined_master.services.access.task_tokens import TaskTokens
from determined_master.services.catalog import Services
from determined_master.services.tasks.proxies import Proxies
from determined_wire.rest.experiments import (
    GetExperimentRequest,
    GetExperimentResponse,
    PauseExperimentRequest,
    PauseExperimentResponse,
)
from determined_wire.rest.master import MasterLogsRequest, MasterLogsResponse
from determined_wire.rest.tasks import PostTaskLogsRequest, PostTaskLogsResponse
from determined_wire.rest.trials import ReportTrialMetricsRequest, ReportTrialMetricsResponse
from determined_wire.rest.types.experiment import Experiment
from determined_wire.rest.types.log import LogEntry

CALLERS = {
    "user": Caller(user_id=2, username="u"),
    "task": Caller(
        user_id=2, username="u", scope=TaskScope("7.a", "7.a.1", trial_id=5, experiment_id=7)
    ),
}


S = TypeVar("S")


class Stubs(Services):
    """A registry that gives an empty object for each service that it lacks."""

    def __getitem__(self, kind: type[S]) -> S:
        try:
            return super().__getitem__(kind)
        except LookupError:
            return cast(S, SimpleNamespace())


class Tokens:
    """An authenticator whose tokens are the names of callers."""

    def __init__(self) -> None:
        self.revoked = False
        self.asked_often = asyncio.Event()
        """Set by the fifth question."""
        self._asked = 0

    async def authenticate(self, token: str) -> Caller | None:
        self._asked += 1
        if self._asked == 5:
            self.asked_often.set()
        return None if self.revoked else CALLERS.get(token)


tokens = Tokens()


class Seen:
    """What reached the routes of this test."""

    def __init__(self) -> None:
        self.requests: list[Any] = []
        self.followers = 0


seen = Seen()


@route("GET", "/api/v1/experiments/{experiment_id}", access=SIGNED_IN)
async def get_experiment(call: Call, request: GetExperimentRequest) -> GetExperimentResponse:
    """Answers with a text of the length that the id says, but for three that fail."""
    if request.experiment_id == 0:
        raise RuntimeError("the password is hunter2")
    if request.experiment_id == 408:
        raise TimeoutError
    if request.experiment_id == 507:
        raise asyncpg.DiskFullError("No space left on device")
    config = {"text": "x" * request.experiment_id}
    return GetExperimentResponse(experiment=Experiment(id=request.experiment_id), config=config)


@route("POST", "/api/v1/experiments/{id}/pause", access=SIGNED_IN)
async def pause(call: Call, request: PauseExperimentRequest) -> PauseExperimentResponse:
    """Fails for odd ids."""
    if request.id % 2:
        raise FailedPrecondition(f"experiment {request.id} in terminal state")
    return PauseExperimentResponse()


@route(
    "POST",
    "/api/v1/trials/{metrics.trial_id}/metrics",
    access=SIGNED_IN,
    task=of_task("metrics.trial_id", "trial_id"),
)
async def report(call: Call, request: ReportTrialMetricsRequest) -> ReportTrialMetricsResponse:
    """Remembers the request."""
    seen.requests.append(request)
    return ReportTrialMetricsResponse()


@route("POST", "/api/v1/task/logs", access=SIGNED_IN, task=of_task("logs.task_id", "task_id"))
async def logs(call: Call, request: PostTaskLogsRequest) -> PostTaskLogsResponse:
    """Remembers the request."""
    seen.requests.append(request)
    return PostTaskLogsResponse()


@stream_route("GET", "/api/v1/master/logs", MasterLogsResponse, access=SIGNED_IN)
async def master_logs(call: Call, request: MasterLogsRequest) -> AsyncIterator[Any]:
    """`limit` entries; a negative limit is an error, an offset one after the first entry."""
    if request.limit < 0:
        raise InvalidArgument("Limit must be >= 0")
    seen.followers += 1
    try:
        for number in range(request.limit):
            yield [MasterLogsResponse(log_entry=LogEntry(id=number, message="<m>"))]
            if request.offset == 1:
                raise InvalidArgument("offset")
            if request.offset:
                raise RuntimeError("offset")
        if request.follow:
            await asyncio.Event().wait()
    finally:
        seen.followers -= 1


@plain_route("POST", "/things/{name}/{path*}", access=SIGNED_IN)
async def thing(call: Call) -> Any:
    """Says what it was given."""
    return {**call.parameters, "body": call.body.decode(), "user": call.caller.username}


@socket_route("/echo/{name}", access=SIGNED_IN)
async def echo(call: Call, socket: WebSocket) -> None:
    """Says who is there, then ends."""
    await socket.receive()
    await socket.send({"type": "websocket.accept"})
    text = f"{call.caller.username} at {call.parameters['name']}"
    await socket.send({"type": "websocket.send", "text": text})
    await socket.send({"type": "websocket.close"})


HERE = [get_experiment, pause, report, logs, master_logs, thing, echo]


KEYS_HERE = {(r.method, r.path) for r in HERE}


ROUTES = [r for r in all_routes() if (r.method, r.path) not in KEYS_HERE] + HERE


@contextmanager
def small_app(**options: Any) -> Iterator[Api]:
    """An API with these routes in the place of the real ones, and nothing behind it."""
    seen.__init__()  # type: ignore[misc]  # as if the module had just been read
    tokens.__init__()  # type: ignore[misc]
    own = TaskTokens(b"secret")
    proxies = Proxies(LiveAllocations(lambda pool: None), own)
    made = Api(ROUTES, Stubs(proxies), tokens, **options)
    try:
        yield made
    finally:
        made.close()
