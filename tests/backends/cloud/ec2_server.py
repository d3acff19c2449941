"""EC2 on loopback: moto, which is made to do what AWS does where it does something else.

AWS starts up to MaxCount instances, refuses what it has no room for, and lets spot requests wait;
moto starts MinCount, has room for everything, and fulfils a spot request in the same instant.
"""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Iterator
from datetime import UTC, datetime
from io import BytesIO
from typing import Any
from urllib.parse import parse_qsl

import pytest
from moto.ec2.exceptions import EC2ClientError
from moto.ec2.models import ec2_backends
from moto.ec2.models.instances import Instance
from moto.ec2.models.spot_requests import SpotInstanceRequest, SpotRequestBackend
from moto.ec2.responses.instances import InstanceResponse
from moto.moto_server.werkzeug_app import (
    DomainDispatcherApplication,
    MotoRequestHandler,
    create_backend_app,
)
from tests.backends.cloud.http_servers import stopped_at_the_end
from werkzeug.serving import make_server

ACCOUNT = "123456789012"
IMAGE = "ami-760aaa0f"
"""One that moto has, with the disk /dev/xvda."""


@functools.cache
def _application() -> Any:
    """moto itself: one for all tests, for it takes a while to be made."""
    return DomainDispatcherApplication(create_backend_app)


class Ec2Server:
    """One test's EC2. `requests` are the parameters of all calls, in their order."""

    def __init__(self) -> None:
        self.url = ""
        self.requests: list[dict[str, str]] = []
        self.room: int | None = None
        """How many more instances can be started."""
        self.refusals: dict[str, tuple[str, str]] = {}
        """By action: code and message of the error that it is answered with."""
        self.spot_begins_after: datetime | None = None
        """Requests must not begin before; None takes any."""
        self.unlisted: set[str] = set()
        """Requests that AWS does not show yet."""
        self._stop = contextlib.ExitStack()

    def calls(self, action: str) -> list[dict[str, str]]:
        """The parameters of all calls of that name."""
        return [call for call in self.requests if call["Action"] == action]

    def instance(self, id: str, region: str = "us-west-2") -> Any:
        """moto's own object."""
        return ec2_backends[ACCOUNT][region].get_instance(id)

    def spot_request(self, id: str, region: str = "us-west-2") -> Any:
        """moto's own object."""
        return ec2_backends[ACCOUNT][region].spot_instance_requests[id]

    def fulfil(self, id: str) -> str:
        """A spot request gets its instance; the instance's id."""
        request = self.spot_request(id)
        request.instance = request.really_launch()
        self.say(id, "fulfilled", "active")
        return str(request.instance.id)

    def say(self, id: str, status: str, state: str = "open", message: str = "") -> None:
        """A spot request has another status."""
        request = self.spot_request(id)
        request.state, request._status_code, request.status_message = state, status, message

    def stop(self) -> None:
        """Nobody is reached any more."""
        self._stop.close()

    def start(self) -> None:
        """Serve on a free port."""
        application = _application()

        def front(environ: dict[str, Any], start: Any) -> Any:
            body = environ["wsgi.input"].read(int(environ.get("CONTENT_LENGTH") or 0))
            environ["wsgi.input"] = BytesIO(body)
            call = dict(parse_qsl(body.decode(), keep_blank_values=True))
            self.requests.append(call)
            refusal = self.refusals.get(call.get("Action", ""))
            if refusal is None:
                return application(environ, start)
            start("400 Bad Request", [("Content-Type", "text/xml")])
            error = "<Error><Code>{}</Code><Message>{}</Message></Error>".format(*refusal)
            text = f"<Response><Errors>{error}</Errors><RequestID>x</RequestID></Response>"
            return [text.encode()]

        server = make_server(
            "127.0.0.1", 0, front, threaded=True, request_handler=MotoRequestHandler
        )
        server.daemon_threads = True  # a client's idle connection is no reason to wait
        self.url = f"http://127.0.0.1:{server.server_port}"
        self._stop.enter_context(stopped_at_the_end(server))

    def count_to_start(self, wanted: int) -> int:
        """How many of those that are asked for can be started."""
        count = wanted if self.room is None else min(wanted, self.room)
        if not count:
            raise EC2ClientError("InsufficientInstanceCapacity", "There is no room for that type")
        if self.room is not None:
            self.room -= count
        return count


@pytest.fixture
def ec2_server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Ec2Server]:
    """An EC2 without instances."""
    for name, value in {
        "AWS_ACCESS_KEY_ID": "testing",
        "AWS_SECRET_ACCESS_KEY": "testing",
        "AWS_CONFIG_FILE": "/dev/null",
        "AWS_SHARED_CREDENTIALS_FILE": "/dev/null",
        "AWS_EC2_METADATA_DISABLED": "true",
    }.items():
        monkeypatch.setenv(name, value)
    for name in ("AWS_DEFAULT_REGION", "AWS_REGION", "AWS_PROFILE", "AWS_ENDPOINT_URL_EC2"):
        monkeypatch.delenv(name, raising=False)
    server = Ec2Server()
    _start_up_to_the_maximum(server, monkeypatch)
    _let_requests_wait(server, monkeypatch)
    server.start()
    yield server
    server.stop()


def _start_up_to_the_maximum(server: Ec2Server, monkeypatch: pytest.MonkeyPatch) -> None:
    given = InstanceResponse._get_param

    def get_param(self: Any, name: str, if_none: Any = None) -> Any:
        if name != "MinCount":
            return given(self, name, if_none)
        return server.count_to_start(int(given(self, "MaxCount")))

    monkeypatch.setattr(InstanceResponse, "_get_param", get_param)
    terminate = Instance.terminate

    def end(self: Any, *args: Any, **kwargs: Any) -> Any:
        if self._state.name == "terminated":  # moto would look for its network interface
            return self._state
        return terminate(self, *args, **kwargs)

    monkeypatch.setattr(Instance, "terminate", end)


def _let_requests_wait(server: Ec2Server, monkeypatch: pytest.MonkeyPatch) -> None:
    make, launch = SpotInstanceRequest.__init__, SpotInstanceRequest.launch_instance

    def made(self: Any, *args: Any, **kwargs: Any) -> None:
        make(self, *args, **kwargs)
        self.state, self._status_code = "open", "pending-evaluation"
        self.made_at = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.000Z")
        self.really_launch = lambda: launch(self)

    monkeypatch.setattr(SpotInstanceRequest, "__init__", made)
    monkeypatch.setattr(SpotInstanceRequest, "launch_instance", lambda self: None)
    waiting = property(lambda self: self.instance and self.instance.id)
    monkeypatch.setattr(SpotInstanceRequest, "instance_id", waiting)
    monkeypatch.setattr(SpotInstanceRequest, "create_time", property(lambda self: self.made_at))
    status = property(lambda self: self._status_code)
    monkeypatch.setattr(SpotInstanceRequest, "status_code", status, raising=False)
    ask, describe = (
        SpotRequestBackend.request_spot_instances,
        SpotRequestBackend.describe_spot_instance_requests,
    )

    def request(self: Any, *args: Any, **kwargs: Any) -> Any:
        earliest = server.spot_begins_after
        if earliest is not None and _instant(kwargs["valid_from"]) <= earliest:
            raise EC2ClientError("InvalidTime", "The start time must be in the future")
        return ask(self, *args, **{**kwargs, "count": server.count_to_start(kwargs["count"])})

    def shown(self: Any, *args: Any, **kwargs: Any) -> Any:
        return [r for r in describe(self, *args, **kwargs) if r.id not in server.unlisted]

    def cancel(self: Any, request_ids: list[str]) -> list[Any]:
        for id in request_ids:
            if id not in self.spot_instance_requests:
                text = f"The spot instance request ID '{id}' does not exist"
                raise EC2ClientError("InvalidSpotInstanceRequestID.NotFound", text)
        found = [self.spot_instance_requests[id] for id in request_ids]
        for one in found:
            is_running = one.instance is not None
            one.state = "cancelled"
            one._status_code = "request-canceled-and-instance-running" if is_running else "x"
        return found

    monkeypatch.setattr(SpotRequestBackend, "request_spot_instances", request)
    monkeypatch.setattr(SpotRequestBackend, "describe_spot_instance_requests", shown)
    monkeypatch.setattr(SpotRequestBackend, "cancel_spot_instance_requests", cancel)


def _instant(given: Any) -> datetime:
    if isinstance(given, str):
        given = datetime.fromisoformat(given)
    return given if given.tzinfo else given.replace(tzinfo=UTC)
