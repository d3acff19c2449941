"""EC2 on loopback: moto, which is made to do what AWS does where it does something else.

AWS starts up to MaxCount instances and refuses what it has no room for; moto starts MinCount and
has room for everything.
"""

from __future__ import annotations

import contextlib
import functools
import time
from collections.abc import Iterator
from io import BytesIO
from typing import Any
from urllib.parse import parse_qsl

import pytest
from moto.ec2.exceptions import EC2ClientError
from moto.ec2.models import ec2_backends
from moto.ec2.models.instances import Instance
from moto.ec2.responses.instances import InstanceResponse
from moto.moto_server.werkzeug_app import (
    DomainDispatcherApplication,
    MotoRequestHandler,
    create_backend_app,
)
from tests.backends.cloud import ec2_fleets, ec2_rules
from tests.backends.cloud.http_servers import stopped_at_the_end
from werkzeug.serving import make_server

ACCOUNT = "123456789012"
ACCOUNT_VARIABLES = {
    "AWS_ACCESS_KEY_ID": "testing",
    "AWS_SECRET_ACCESS_KEY": "testing",
    "AWS_CONFIG_FILE": "/dev/null",
    "AWS_SHARED_CREDENTIALS_FILE": "/dev/null",
    "AWS_EC2_METADATA_DISABLED": "true",
}
"""The environment of a program that calls this EC2."""
IMAGE = "ami-760aaa0f"
"""One that moto has, with the disk /dev/xvda."""


@functools.cache
def application() -> Any:
    """moto itself: one for all tests, for it takes a while to be made."""
    return DomainDispatcherApplication(create_backend_app)


def error_of_ec2(code: str, message: str) -> bytes:
    """The body of an answer of EC2 that refuses a call."""
    error = f"<Error><Code>{code}</Code><Message>{message}</Message></Error>"
    text = f"<Response><Errors>{error}</Errors><RequestID>x</RequestID></Response>"
    return text.encode()


class Ec2Server:
    """One test's EC2. `requests` are the parameters of all calls, in their order."""

    def __init__(self) -> None:
        self.url = ""
        self.requests: list[dict[str, str]] = []
        self.times_s: list[float] = []
        """When each call came, by `time.monotonic`."""
        self.launched: list[str] = []
        """The ids of all instances, in the order of their launch."""
        self.room: int | None = None
        """How many more instances can be started."""
        self.refusals: dict[str, tuple[str, str]] = {}
        """By action: code and message of the error that it is answered with."""
        self.fleets = ec2_fleets.FleetRules()
        self._stop = contextlib.ExitStack()

    def calls(self, action: str) -> list[dict[str, str]]:
        """The parameters of all calls of that name."""
        return [call for call in self.requests if call["Action"] == action]

    def instance(self, id: str, region: str = "us-west-2") -> Any:
        """moto's own object."""
        return ec2_backends[ACCOUNT][region].get_instance(id)

    def stop(self) -> None:
        """Nobody is reached any more."""
        self._stop.close()

    def start(self) -> None:
        """Serve on a free port."""
        whole = application()

        def front(environ: dict[str, Any], start: Any) -> Any:
            body = environ["wsgi.input"].read(int(environ.get("CONTENT_LENGTH") or 0))
            environ["wsgi.input"] = BytesIO(body)
            call = dict(parse_qsl(body.decode(), keep_blank_values=True))
            self.times_s.append(time.monotonic())
            self.requests.append(call)
            refusal = self.refusals.get(call.get("Action", ""))
            if refusal is None:
                return whole(environ, start)
            start("400 Bad Request", [("Content-Type", "text/xml")])
            return [error_of_ec2(*refusal)]

        server = make_server(
            "127.0.0.1", 0, front, threaded=True, request_handler=MotoRequestHandler
        )
        # A client's idle connection is no reason to wait; the threaded server has the attribute.
        server.daemon_threads = True  # type: ignore[attr-defined]
        self.url = f"http://127.0.0.1:{server.server_port}"
        self._stop.enter_context(stopped_at_the_end(server))

    def count_to_start(self, wanted: int) -> int:
        """How many of those that are asked for can be started."""
        count = self.take(wanted)
        if not count:
            raise EC2ClientError("InsufficientInstanceCapacity", "There is no room for that type")
        return count

    def take(self, wanted: int) -> int:
        """The same; 0 for none."""
        count = wanted if self.room is None else min(wanted, self.room)
        if self.room is not None:
            self.room -= count
        return count


@pytest.fixture
def ec2_server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Ec2Server]:
    """An EC2 without instances."""
    for name, value in ACCOUNT_VARIABLES.items():
        monkeypatch.setenv(name, value)
    for name in ("AWS_DEFAULT_REGION", "AWS_REGION", "AWS_PROFILE", "AWS_ENDPOINT_URL_EC2"):
        monkeypatch.delenv(name, raising=False)
    with running_ec2(monkeypatch) as server:
        yield server


@contextlib.contextmanager
def running_ec2(patch: pytest.MonkeyPatch) -> Iterator[Ec2Server]:
    """An EC2 that is gone at the end; moto is patched until then."""
    server = Ec2Server()
    _start_up_to_the_maximum(server, patch)
    ec2_fleets.install(server.fleets, server.take, patch)
    ec2_rules.install(patch)
    server.start()
    try:
        yield server
    finally:
        server.stop()


def _start_up_to_the_maximum(server: Ec2Server, monkeypatch: pytest.MonkeyPatch) -> None:
    given = InstanceResponse._get_param

    def get_param(self: Any, name: str, if_none: Any = None) -> Any:
        if name != "MinCount":
            return given(self, name, if_none)
        return server.count_to_start(int(given(self, "MaxCount")))

    monkeypatch.setattr(InstanceResponse, "_get_param", get_param)
    begin = Instance.__init__

    def launch(self: Any, *args: Any, **kwargs: Any) -> None:
        begin(self, *args, **kwargs)
        server.launched.append(self.id)

    monkeypatch.setattr(Instance, "__init__", launch)
    terminate = Instance.terminate

    def end(self: Any, *args: Any, **kwargs: Any) -> Any:
        if self._state.name == "terminated":  # moto would look for its network interface
            return self._state
        return terminate(self, *args, **kwargs)

    monkeypatch.setattr(Instance, "terminate", end)
