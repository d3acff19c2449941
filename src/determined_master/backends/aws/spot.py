"""Spot machines of AWS: spot requests, and the instances that they get.

Each listing also updates the requests' states, tags instances, reports requests that cannot be
fulfilled, and ends instances whose requests were cancelled too late.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime
from typing import Any

from determined_master import clock
from determined_master.backends.aws import requests
from determined_master.backends.aws.ec2 import Ec2, Ec2Refused, refusals_are
from determined_master.backends.aws.provider import AwsMachines, Ec2Connection, MakeClient
from determined_master.backends.aws.spot_requests import (
    LIVE,
    PREFIX,
    RUNS_ON,
    SpotRequests,
    stand_in,
)
from determined_master.backends.cloud.metadata import AwsMetadata
from determined_master.domain.machines.scaling import Machine
from determined_master.ports import LaunchFailed, MachineSite, ProviderFailed
from determined_master.settings.aws import AwsProvider

log = logging.getLogger(__name__)
START = timedelta(seconds=10)
"""The start of a request must be in the future by AWS's clock; a failed attempt adds as much."""
MAX_TRIES = 6
SKEW_STEP_S = 10
_TOO_EARLY = "InvalidTime"
MAX_VALUES = 200
"""AWS refuses filters with more values."""


class SpotMachines(AwsMachines):
    """Implements `ports.MachineProvider`."""

    def __init__(
        self,
        aws: AwsProvider,
        site: MachineSite,
        *,
        metadata: AwsMetadata | None = None,
        make_client: MakeClient = Ec2,
        now: Callable[[], datetime] = clock.now,
    ) -> None:
        """As `AwsMachines`; `now` is the master's clock."""
        super().__init__(aws, site, metadata=metadata, make_client=make_client)
        self._now = now
        self._requests = SpotRequests()
        self._named: set[str] = set()
        self._skew = timedelta(0)

    def _find_out(self) -> Ec2Connection:
        opened = super()._find_out()
        try:
            with refusals_are():
                answer = opened.ec2.call(
                    "describe_spot_instance_requests",
                    Filters=requests.own_filters(opened.terms, state=LIVE),
                )
        except ProviderFailed:  # it is opened again, every few seconds
            opened.ec2.close()
            raise
        self._skew = skew_of(answer, self._now())
        if self._skew:
            log.warning(
                "the master's clock is behind AWS's",
                extra={"seconds": self._skew.total_seconds()},
            )
        return opened

    def _launch(self, count: int, token: str) -> list[Machine]:
        ec2, terms = self._ready()
        with refusals_are():
            before = ec2.spot_requests(
                [*requests.own_filters(terms), requests.launch_filter(token)]
            )
        made = before or self._request(count, token)
        return [stand_in(request) for request in self._requests.made(made)]

    def _request(self, count: int, token: str) -> list[dict[str, Any]]:
        ec2, terms = self._ready()
        for attempt in range(1, MAX_TRIES + 1):
            begin = self._now() + self._skew + START * attempt
            order = requests.request_spot(terms, count, token, begin)
            try:
                answer = ec2.call("request_spot_instances", **order)
            except Ec2Refused as error:
                if error.code != _TOO_EARLY:
                    raise LaunchFailed(str(error)) from None
                continue
            made: list[dict[str, Any]] = answer["SpotInstanceRequests"]
            return made
        raise LaunchFailed(
            f"AWS rejects start times of spot requests up to {START * MAX_TRIES} from now: "
            "correct the clock of the master's machine"
        )

    def _terminate(self, machine_ids: Sequence[str]) -> None:
        ec2 = self._ready().ec2
        asked = [id for id in machine_ids if id.startswith(PREFIX)]
        asked = [id for id in asked if not self._requests.is_granted(id)]
        with refusals_are():
            ec2.cancel_requests(asked)
            self._requests.cancelled(asked)
            ec2.end_instances([id for id in machine_ids if not id.startswith(PREFIX)])

    def _list(self) -> list[Machine]:
        ec2, terms = self._ready()
        with refusals_are():
            live = ec2.spot_requests(requests.own_filters(terms, state=LIVE))
            unseen = self._requests.listed(live)
            over = []
            if unseen:  # a filter, since the call would fail for an id that AWS does not know yet
                answers = [
                    answer
                    for some in batched(unseen)
                    for answer in ec2.spot_requests(
                        [{"Name": "spot-instance-request-id", "Values": some}]
                    )
                ]
                over = self._requests.looked_up(unseen, answers, self._now())
            for request in self._requests.to_report(over):
                log.error(
                    "a request for a spot machine is not fulfilled and may need action: %s",
                    request.message,
                    extra={"pool": terms.pool, "request": request.id, "status": request.status},
                )
            self._end_orphans()
            machines = self._instances()
        return [*machines, *self._requests.pending()]

    def _instances(self) -> list[Machine]:
        """Instances of requests, tagged; ending ones do not hide missing ones."""
        ec2, terms = self._ready()
        ids = self._requests.instance_ids()
        if not ids:
            return []
        found = [
            instance
            for some in batched(ids)
            for instance in ec2.instances([{"Name": "instance-id", "Values": some}])
        ]
        here = [i for i in found if i["State"]["Name"] not in ("terminated", "shutting-down")]
        nameless = sorted({i["InstanceId"] for i in here} - self._named)
        if nameless:
            try:
                ec2.call("create_tags", Resources=nameless, Tags=requests.tags(terms))
            except Ec2Refused as error:  # their requests identify them, also without tags
                log.warning("spot machines have no tags: %s", error, extra={"pool": terms.pool})
        self._named = {i["InstanceId"] for i in here}
        return [requests.machine_of(instance, is_spot=True) for instance in here]

    def _end_orphans(self) -> None:
        """End the instances of a withdrawn request: nothing else knows of them."""
        ec2, terms = self._ready()
        late = ec2.spot_requests(
            requests.own_filters(terms, state=["cancelled"], status_code=[RUNS_ON])
        )
        orphans = sorted(r["InstanceId"] for r in late if r.get("InstanceId"))
        if orphans:
            log.warning(
                "spot machines are ended: their requests were cancelled after they were granted",
                extra={"pool": terms.pool, "machines": orphans},
            )
        ec2.end_instances(orphans)


def batched(ids: Sequence[str]) -> list[list[str]]:
    """Batches of the size that AWS accepts for one filter."""
    return [list(ids[i : i + MAX_VALUES]) for i in range(0, len(ids), MAX_VALUES)]


def skew_of(answer: dict[str, Any], now: datetime) -> timedelta:
    """How far AWS's clock is ahead of ours, rounded up to 10 s; 0 when it is not, or is unknown.

    If our clock is ahead, requests only begin later than needed.
    """
    headers = answer.get("ResponseMetadata", {}).get("HTTPHeaders", {})
    try:
        theirs = parsedate_to_datetime(headers.get("date", ""))
    except ValueError:
        return timedelta(0)
    theirs = theirs if theirs.tzinfo else theirs.replace(tzinfo=UTC)
    ahead_s = (theirs - now).total_seconds()
    if ahead_s < 1:  # the header has whole seconds
        return timedelta(0)
    return timedelta(seconds=math.ceil(ahead_s / SKEW_STEP_S) * SKEW_STEP_S)
