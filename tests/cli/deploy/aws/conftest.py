"""An account of AWS on loopback: moto, in this process."""

from __future__ import annotations

import contextlib
import copy
import urllib.request
from collections.abc import Iterator
from typing import Any

import pytest
from moto.ec2.models import ec2_backends
from tests.backends.cloud.ec2_server import ACCOUNT, ACCOUNT_VARIABLES, application
from tests.backends.cloud.http_servers import stopped_at_the_end
from werkzeug.serving import make_server

from determined.cli.deploy.aws import preflight, stack

REGION = "us-west-2"


class Aws:
    """The account's clients, for what the tests look at."""

    def __init__(self, url: str) -> None:
        self.url = url

    def client(self, service: str) -> Any:
        import boto3

        return boto3.client(service, region_name=REGION, endpoint_url=self.url)


@contextlib.contextmanager
def account_of_aws(patch: pytest.MonkeyPatch) -> Iterator[Aws]:
    """An empty account with the key pair `ops`; `patch` holds until the end."""
    server = make_server("127.0.0.1", 0, application(), threaded=True)
    server.daemon_threads = True  # type: ignore[attr-defined]
    with stopped_at_the_end(server):
        account = Aws(f"http://127.0.0.1:{server.server_port}")
        variables = {**ACCOUNT_VARIABLES, "AWS_ENDPOINT_URL": account.url}
        for name, value in {**variables, "AWS_DEFAULT_REGION": REGION}.items():
            patch.setenv(name, value)
        _post(f"{account.url}/moto-api/reset")
        client = account.client("ec2")
        client.create_key_pair(KeyName="ops")
        for owner, name in (preflight.UBUNTU, preflight.WITH_DRIVERS):
            _add_image(owner, name.replace("*", "x"))
        yield account


@pytest.fixture
def aws(home: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[Aws]:
    """An account, and commands that wait for it as briefly as can be."""
    monkeypatch.setattr(stack, "PAUSE_S", 0.05)
    with account_of_aws(monkeypatch) as account:
        yield account


def _add_image(owner: str, name: str) -> None:
    """An image of another account, as moto keeps its own."""
    backend = ec2_backends[ACCOUNT][REGION]
    one = next(image for image in backend.amis.values() if image.owner_id == "099720109477")
    added = copy.copy(one)
    added.owner_id, added.name = owner, name
    added.id = f"ami-{len(backend.amis):017x}"
    added.owner_alias = "amazon" if owner == "amazon" else None
    backend.amis[added.id] = added


def _post(url: str) -> None:
    with urllib.request.urlopen(urllib.request.Request(url, method="POST"), timeout=30):
        pass
