"""Notices of a cloud that it takes this machine back, read from its metadata service.

AWS announces the end of a spot machine two minutes before, and often advises earlier to leave it.
Google announces the end of a preemptible one half a minute before. Tasks can then still save their
work.
"""

from __future__ import annotations

import asyncio
import logging
import urllib.error
import urllib.request
from collections.abc import Callable, Mapping
from typing import Literal, TypeVar

import msgspec

log = logging.getLogger(__name__)

MachineCloud = Literal["", "aws", "gcp"]
EVERY_S = 5.0
TIMEOUT_S = 2.0
MAX_BYTES = 4096
ON_EC2 = "http://169.254.169.254"
ON_COMPUTE_ENGINE = "http://metadata.google.internal"
# The service is on the machine's own network, so it is never reached through a proxy.
_direct = urllib.request.build_opener(urllib.request.ProxyHandler({}))


class _InstanceAction(msgspec.Struct):
    """An answer of `spot/instance-action`."""

    action: str = "end"
    time: str = ""


class _Rebalance(msgspec.Struct, rename="camel"):
    """An answer of `events/recommendations/rebalance`."""

    notice_time: str = ""


_Answer = TypeVar("_Answer", bound=msgspec.Struct)


def find_aws_notice(url: str) -> str:
    """The notice of an EC2 machine, in words; empty without one.

    Raises:
        OSError: the service does not answer.
    """
    answer = ask_aws(url, "meta-data/spot/instance-action")
    if answer:
        action = _decoded(answer, _InstanceAction())
        return f"AWS will {action.action} this spot machine{_at(action.time)}"
    answer = ask_aws(url, "meta-data/events/recommendations/rebalance")
    if answer:
        since = _at(_decoded(answer, _Rebalance()).notice_time)
        return f"AWS advised{since} to leave this spot machine, which it will probably end soon"
    return ""


def find_gcp_notice(url: str) -> str:
    """The notice of a Compute Engine machine, in words; empty without one.

    Raises:
        OSError: the service does not answer.
    """
    headers = {"Metadata-Flavor": "Google"}
    if _ask(f"{url}/computeMetadata/v1/instance/preempted", headers) == "TRUE":
        return "Google preempts this machine"
    event = _ask(f"{url}/computeMetadata/v1/instance/maintenance-event", headers)
    return (
        "Google ends this machine for maintenance"
        if event == "TERMINATE_ON_HOST_MAINTENANCE"
        else ""
    )


def notice_of(cloud: MachineCloud, env: Mapping[str, str]) -> Callable[[], str] | None:
    """A function that asks a cloud for its notice; None for a machine of no cloud."""
    if cloud == "aws":
        url = aws_url(env)
        return lambda: find_aws_notice(url)
    if cloud == "gcp":
        host = env.get("GCE_METADATA_HOST", "")
        return lambda: find_gcp_notice(f"http://{host}" if host else ON_COMPUTE_ENGINE)
    return None


async def watch(find: Callable[[], str], announce: Callable[[str], None], every_s: float) -> None:
    """Announce the first notice, and end. A service that does not answer is asked again."""
    has_failed = False
    while True:
        try:
            notice = await asyncio.to_thread(find)
        except OSError as error:
            if not has_failed:
                log.warning("the cloud's metadata service does not answer: %s", error)
            has_failed = True
        else:
            has_failed = False
            if notice:
                log.warning("the machine is taken back", extra={"notice": notice})
                announce(notice)
                return
        await asyncio.sleep(every_s)


def aws_url(env: Mapping[str, str]) -> str:
    """Where an EC2 machine reaches its metadata service."""
    return (env.get("AWS_EC2_METADATA_SERVICE_ENDPOINT", "") or ON_EC2).rstrip("/")


def ask_aws(url: str, item: str) -> str:
    """An item of an EC2 machine's metadata; empty for one that does not exist.

    Raises:
        OSError: the service does not answer.
    """
    age = {"X-aws-ec2-metadata-token-ttl-seconds": "60"}
    token = _ask(f"{url}/latest/api/token", age, method="PUT")
    return _ask(f"{url}/latest/{item}", {"X-aws-ec2-metadata-token": token})


def _decoded(text: str, default: _Answer) -> _Answer:
    """An answer; the default for one that is malformed, which is a notice all the same."""
    try:
        return msgspec.json.decode(text, type=type(default))
    except msgspec.DecodeError:
        return default


def _at(time: str) -> str:
    return f" at {time}" if time else ""


def _ask(url: str, headers: Mapping[str, str], method: str = "GET") -> str:
    """An answer; empty for a refusal, as for a notice that does not exist."""
    request = urllib.request.Request(url, headers=dict(headers), method=method)
    try:
        with _direct.open(request, timeout=TIMEOUT_S) as answer:
            return str(answer.read(MAX_BYTES).decode(errors="replace")).strip()
    except urllib.error.HTTPError as error:
        error.close()
        if error.code >= 500:
            raise OSError(f"{url} answers {error.code}") from None
        return ""
