"""An account of AWS on loopback: moto, in this process."""

from __future__ import annotations

import base64
import contextlib
import copy
import functools
import json
import urllib.request
from collections.abc import Iterator
from io import BytesIO
from typing import Any
from urllib.parse import parse_qsl

import botocore.session
import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from moto.ec2.models import ec2_backends
from tests.backends.cloud import ec2_rules
from tests.backends.cloud.ec2_server import (
    ACCOUNT,
    ACCOUNT_VARIABLES,
    application,
    error_of_ec2,
)
from tests.backends.cloud.http_servers import stopped_at_the_end
from tests.cli.deploy.aws.simulation import Simulation
from tests.cli.deploy.aws.simulation import refusal as refusal_of_iam
from tests.cli.deploy.wheel_once import copy_wheel
from werkzeug.serving import make_server

from determined_deploy.aws import stack
from determined_deploy.cloud import wheel

REGION = "us-west-2"
CANONICAL = "099720109477"
UBUNTU, ARM_UBUNTU, DRIVERS, ARM_DRIVERS, OLD_DRIVERS = (
    f"ami-{number:017x}" for number in range(1, 6)
)
_UBUNTU_NAME = "ubuntu/images/hvm-ssd-gp3/ubuntu-noble-24.04-{}-server-20261101"
_BASE = "Deep Learning {} GPU AMI (Ubuntu 24.04) 20261006"
IMAGES = (
    (CANONICAL, _UBUNTU_NAME.format("amd64"), "x86_64", UBUNTU),
    (CANONICAL, _UBUNTU_NAME.format("arm64"), "arm64", ARM_UBUNTU),
    ("amazon", _BASE.format("Base OSS Nvidia Driver"), "x86_64", DRIVERS),
    ("amazon", _BASE.format("ARM64 Base OSS Nvidia Driver"), "arm64", ARM_DRIVERS),
    ("111122223333", "mine with an old driver", "x86_64", OLD_DRIVERS),
)
"""Owner, name, processors and id of the region's images, as their owners name them."""
_PUBLIC_KEY = (
    Ed25519PrivateKey.generate().public_key().public_bytes(Encoding.OpenSSH, PublicFormat.OpenSSH)
)

loader_of = functools.cache(botocore.session.create_loader)
"""Each command has a session of its own, which would read megabytes of descriptions again."""


class Aws:
    """The account's clients, for what the tests look at, and what AWS refuses."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.refusals: dict[str, tuple[str, str]] = {}
        """By action of EC2: code and message of the error that it is answered with."""
        self.price_list: dict[tuple[str, str], list[dict[str, Any]]] = {}
        """By instance type and region: the products of the price list, which moto has not."""
        self.simulation = Simulation()
        self.calls: list[dict[str, str]] = []
        """Parameters of all calls of EC2, in their order."""
        self._clients: dict[str, Any] = {}

    def client(self, service: str) -> Any:
        """Made once: to make one takes longer than its call."""
        if service not in self._clients:
            import boto3

            made = boto3.client(service, region_name=REGION, endpoint_url=self.url)
            self._clients[service] = made
        return self._clients[service]

    def user_script(self, instance: str) -> str:
        """The script in the user data of a machine, as it unpacks itself."""
        attribute = self.client("ec2").describe_instance_attribute(
            InstanceId=instance, Attribute="userData"
        )
        text = base64.b64decode(attribute["UserData"]["Value"]).decode()
        return text[text.index("#!/bin/bash") :].partition("\n--determined--")[0]


@contextlib.contextmanager
def account_of_aws(patch: pytest.MonkeyPatch) -> Iterator[Aws]:
    """An empty account with the key pair `ops`; `patch` holds until the end."""
    account = Aws("")
    server = make_server("127.0.0.1", 0, _front(account), threaded=True)
    server.daemon_threads = True  # type: ignore[attr-defined]
    with stopped_at_the_end(server):
        account.url = f"http://127.0.0.1:{server.server_port}"
        variables = {**ACCOUNT_VARIABLES, "AWS_ENDPOINT_URL": account.url}
        for name, value in {**variables, "AWS_DEFAULT_REGION": REGION}.items():
            patch.setenv(name, value)
        _post(f"{account.url}/moto-api/reset")
        client = account.client("ec2")
        # A key pair of EC2's own would be of RSA, which takes a tenth of the test to find.
        client.import_key_pair(KeyName="ops", PublicKeyMaterial=_PUBLIC_KEY)
        for image in IMAGES:
            _add_image(*image)
        ec2_rules.install(patch)
        yield account


def _front(account: Aws) -> Any:
    """moto behind a front that refuses calls as the account does; moto has no policies."""
    whole = application()

    def front(environ: dict[str, Any], start: Any) -> Any:
        if environ.get("HTTP_X_AMZ_TARGET") == "AWSPriceListService.GetProducts":
            body = environ["wsgi.input"].read(int(environ["CONTENT_LENGTH"]))
            start("200 OK", [("Content-Type", "application/x-amz-json-1.1")])
            return [_products(account, json.loads(body))]
        if "form-urlencoded" not in environ.get("CONTENT_TYPE", ""):
            return whole(environ, start)
        body = environ["wsgi.input"].read(int(environ.get("CONTENT_LENGTH") or 0))
        environ["wsgi.input"] = BytesIO(body)
        call = dict(parse_qsl(body.decode(), keep_blank_values=True))
        account.calls.append(call)
        try:
            answer = account.simulation.answer(call)
        except PermissionError as error:
            start("403 Forbidden", [("Content-Type", "text/xml")])
            return [refusal_of_iam(error)]
        if answer is not None:
            start("200 OK", [("Content-Type", "text/xml")])
            return [answer]
        refusal = account.refusals.get(call.get("Action", ""))
        if refusal is None:
            return whole(environ, start)
        start("403 Forbidden", [("Content-Type", "text/xml")])
        return [error_of_ec2(*refusal)]

    return front


def _products(account: Aws, asked: dict[str, Any]) -> bytes:
    """A page of the price list: one product a page, so that pages must be followed."""
    wanted = {one["Field"]: one["Value"] for one in asked["Filters"]}
    assert (asked["ServiceCode"], wanted["operatingSystem"]) == ("AmazonEC2", "Linux")
    listed = account.price_list.get((wanted["instanceType"], wanted["regionCode"]), [])
    place = int(asked.get("NextToken", 0))
    page: dict[str, Any] = {"FormatVersion": "aws_v1"}
    page["PriceList"] = [json.dumps(one) for one in listed[place : place + 1]]
    if place + 1 < len(listed):
        page["NextToken"] = str(place + 1)
    return json.dumps(page).encode()


@pytest.fixture
def aws(home: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[Aws]:
    """An account, and commands that wait for it as briefly as can be."""
    monkeypatch.setattr(stack, "PAUSE_S", 0.05)
    monkeypatch.setattr(wheel, "build_wheel", copy_wheel)
    monkeypatch.setattr(botocore.session, "create_loader", loader_of)
    with account_of_aws(monkeypatch) as account:
        yield account


def _add_image(owner: str, name: str, architecture: str, image: str) -> None:
    """An image of another account, as moto keeps its own."""
    backend = ec2_backends[ACCOUNT][REGION]
    one = next(image for image in backend.amis.values() if image.owner_id == "099720109477")
    added = copy.copy(one)
    added.owner_id, added.name = owner, name
    added.id, added.architecture = image, architecture
    added.owner_alias = "amazon" if owner == "amazon" else None
    backend.amis[added.id] = added


def _post(url: str) -> None:
    with urllib.request.urlopen(urllib.request.Request(url, method="POST"), timeout=30):
        pass
