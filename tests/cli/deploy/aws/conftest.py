"""An account of AWS on loopback: moto, in this process."""

from __future__ import annotations

import urllib.request
from collections.abc import Iterator
from typing import Any

import pytest
from tests.backends.cloud.ec2_server import ACCOUNT_VARIABLES, application
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


@pytest.fixture
def aws(home: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[Aws]:
    """An empty account with the key pair `ops`."""
    server = make_server("127.0.0.1", 0, application(), threaded=True)
    server.daemon_threads = True  # type: ignore[attr-defined]
    with stopped_at_the_end(server):
        url = f"http://127.0.0.1:{server.server_port}"
        variables = {**ACCOUNT_VARIABLES, "AWS_ENDPOINT_URL": url, "AWS_DEFAULT_REGION": REGION}
        for name, value in variables.items():
            monkeypatch.setenv(name, value)
        images = ("099720109477", "ubuntu/images/hvm-ssd/ubuntu-trusty-*")
        monkeypatch.setattr(preflight, "UBUNTU", images)
        monkeypatch.setattr(preflight, "WITH_DRIVERS", images)
        monkeypatch.setattr(stack, "PAUSE_S", 0.05)
        account = Aws(url)
        _post(f"{url}/moto-api/reset")
        account.client("ec2").create_key_pair(KeyName="ops")
        yield account


def _post(url: str) -> None:
    with urllib.request.urlopen(urllib.request.Request(url, method="POST"), timeout=30):
        pass
