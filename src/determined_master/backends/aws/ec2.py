"""Calls of EC2 by boto3. Each blocks for well under a minute and raises only our own errors."""

from __future__ import annotations

import contextlib
import functools
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from determined_master.domain.machines.offers import Refusal
from determined_master.ports.machines import LaunchFailed, ProviderFailed

ROOM = "InsufficientInstanceCapacity"
REFUSALS: Mapping[str, Refusal] = {
    ROOM: "no room",
    "InsufficientCapacity": "no room",
    "InsufficientFreeAddressesInSubnet": "no room",
    "Unsupported": "no room",  # a zone that does not have the type
    "InvalidFleetConfiguration": "no room",  # the same, of a fleet
    "UnfulfillableCapacity": "no room",
    "InstanceLimitExceeded": "quota",
    "VcpuLimitExceeded": "quota",
    "MaxSpotInstanceCountExceeded": "quota",
    "SpotMaxPriceTooLow": "price",
}
"""Answers that concern one type, subnet and market."""
_EXPIRED = ("ExpiredToken", "ExpiredTokenException", "RequestExpired")
_THROTTLED = ("RequestLimitExceeded", "RequestThrottled", "Throttling", "ThrottlingException")
_UNDECIDED = (
    # The first request with the token may have been accepted, and its answer lost.
    *_EXPIRED,
    *_THROTTLED,
    # The token's first request was accepted and its answer lost. This request differs from it
    # because the settings have changed. The machines of the first will be listed.
    "IdempotentParameterMismatch",
    "InternalError",
    "InternalFailure",
    "ServiceUnavailable",
    "Unavailable",
)
"""Answers that do not tell which machines were, or will be, started."""
_GONE = "InvalidInstanceID.NotFound"
_REMEDIES = {
    ROOM: "try another zone, type of instance, or wait",
    "SpotMaxPriceTooLow": "raise provider.spot_max_price, or leave it out",
    "InstanceLimitExceeded": "ask AWS for a higher quota, or lower max_instances",
    "MaxSpotInstanceCountExceeded": "ask AWS for a higher quota, or lower max_instances",
    "VcpuLimitExceeded": "ask AWS for a higher quota, or lower max_instances",
    "UnauthorizedOperation": "give the master's role the permissions of docs/provisioning.md",
    "AuthFailure.ServiceLinkedRoleCreationNotPermitted": "create the role for spot instances "
    "once: aws iam create-service-linked-role --aws-service-name spot.amazonaws.com; for fleets "
    "that of ec2fleet.amazonaws.com",
    "InvalidAMIID.NotFound": "set provider.image_id to an image of the region",
    "InvalidAMIID.Malformed": "set provider.image_id to an image of the region",
    "InvalidKeyPair.NotFound": "set provider.ssh_key_name to a key pair of the region",
}
MAX_TEXT = 400
_making = threading.Lock()


class Ec2Refused(Exception):
    def __init__(self, code: str, text: str) -> None:
        super().__init__(text)
        self.code = code


class Ec2:
    def __init__(self, region: str, endpoint_url: str | None = None) -> None:
        """
        Args:
            region: such as us-west-2.
            endpoint_url: another server; boto3's AWS_ENDPOINT_URL_EC2 counts too.

        Raises:
            ProviderFailed: boto3 is not installed, or cannot make a client.
        """
        try:
            import boto3
            from botocore.config import Config
        except ImportError:
            raise ProviderFailed(
                "boto3 is not installed where the master runs: "
                "pip install 'determined-platform[aws]'"
            ) from None
        config = Config(connect_timeout=5, read_timeout=20, retries={"total_max_attempts": 2})
        with errors("making a client"), _making:
            self._client = _session(boto3).client(
                "ec2", region_name=region, endpoint_url=endpoint_url, config=config
            )

    def call(self, name: str, **parameters: Any) -> dict[str, Any]:
        """One call, such as `run_instances`. Raises Refused, ProviderFailed."""
        with errors(name):
            answer: dict[str, Any] = getattr(self._client, name)(**parameters)
            return answer

    def instances(self, filters: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
        """All instances that match the filters. Raises Refused, ProviderFailed."""
        with errors("describe_instances"):
            pages = self._client.get_paginator("describe_instances").paginate(Filters=filters)
            return [i for page in pages for r in page["Reservations"] for i in r["Instances"]]

    def end_instances(self, ids: Sequence[str]) -> None:
        """Terminate; missing machines are no error. Raises Refused, ProviderFailed."""
        each(ids, lambda some: self.call("terminate_instances", InstanceIds=some))

    def close(self) -> None:
        self._client.close()


@functools.cache
def _session(boto3: Any) -> Any:
    """One for all pools, because it reads a large file. It must not be used concurrently while
    clients are made.
    """
    return boto3.session.Session()


def each(ids: Sequence[str], act: Callable[[list[str]], object]) -> None:
    """Act on all at once; one by one if some no longer exist: EC2 then does nothing."""
    if not ids:
        return
    try:
        act(list(ids))
    except Ec2Refused as error:
        if error.code != _GONE:
            raise
        if len(ids) > 1:
            for one in ids:
                each([one], act)


@contextlib.contextmanager
def errors(act: str) -> Iterator[None]:
    """Convert boto3's errors to Refused or ProviderFailed, shortened and with a remedy."""
    from botocore.exceptions import BotoCoreError, ClientError, NoCredentialsError

    try:
        yield
    except ClientError as error:
        details = error.response.get("Error", {})
        code, message = (
            str(details.get("Code", "")),
            " ".join(str(details.get("Message", "")).split()),
        )
        status = error.response.get("ResponseMetadata", {}).get("HTTPStatusCode", 0)
        text = worded(act, code, message)
        if code in _UNDECIDED or (status >= 500 and code != ROOM):
            raise ProviderFailed(f"AWS: {text}") from None
        raise Ec2Refused(code, f"AWS: {text}") from None
    except NoCredentialsError:
        raise ProviderFailed(
            "AWS: the master has no credentials: give its machine a role, or set "
            "AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY where it runs"
        ) from None
    except BotoCoreError as error:
        text = " ".join(str(error).split())[:MAX_TEXT]
        raise ProviderFailed(f"AWS: {act} failed: {text}") from None


def worded(act: str, code: str, message: str) -> str:
    """An error of AWS, shortened and with a remedy."""
    remedy = _REMEDIES.get(code)
    if code == "UnauthorizedOperation":  # the rest is ciphertext
        message = message.partition("Encoded authorization failure message")[0].strip()
    return f"{act} failed, {code}: {message[:MAX_TEXT]}" + (f"; {remedy}" if remedy else "")


@contextlib.contextmanager
def refusals_are(kind: type[ProviderFailed] = ProviderFailed) -> Iterator[None]:
    """Raise what EC2 refused as ProviderFailed, or as LaunchFailed where it was a launch."""
    try:
        yield
    except Ec2Refused as error:
        raise kind(str(error)) from None


@contextlib.contextmanager
def launching() -> Iterator[None]:
    """Raise refusals of EC2 as LaunchFailed."""
    with refusals_are(LaunchFailed):
        yield
