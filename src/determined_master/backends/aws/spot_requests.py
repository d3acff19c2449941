"""The master's record of its spot requests. Pure values over AWS's answers.

A listing of AWS lags by up to half a minute, so a request stays in the record from its creation
until AWS reports its end.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from typing import Any

import msgspec

from determined_master.domain.machines.scaling import Machine

PREFIX = "sir-"
LIVE = ("open", "active")
NO_OFFER = frozenset(("capacity-not-available", "price-too-low"))
"""Failures that may pass: the request stays, and AWS continues to try."""
NO_USE = frozenset(("bad-parameters", "constraint-not-fulfillable", "limit-exceeded"))
"""Failures that end a request."""
RUNS_ON = "request-canceled-and-instance-running"
LOST_AFTER = timedelta(minutes=10)
"""Time after which a request that AWS does not list is given up."""


class Request(msgspec.Struct, frozen=True, kw_only=True):
    id: str
    made_at: datetime
    state: str
    status: str = ""
    message: str = ""
    instance_id: str = ""

    @property
    def is_pending(self) -> bool:
        """Whether its instance does not exist yet."""
        return not self.instance_id


class SpotRequests:
    def __init__(self) -> None:
        self._requests: dict[str, Request] = {}
        self._unseen_since: dict[str, datetime] = {}
        self._reported: dict[str, str] = {}

    def made(self, answers: Iterable[Mapping[str, Any]]) -> list[Request]:
        """Add requests that AWS has just accepted."""
        new = [request_of(answer) for answer in answers]
        self._requests |= {request.id: request for request in new}
        return new

    def cancelled(self, ids: Iterable[str]) -> None:
        """Remove withdrawn requests."""
        for id in ids:
            self._strike(id)

    def listed(self, answers: Iterable[Mapping[str, Any]]) -> list[str]:
        """Update from AWS's list of open and active requests; return known ids that it lacks."""
        found = {request.id: request for request in map(request_of, answers)}
        for id in found:
            self._unseen_since.pop(id, None)
        self._requests |= found
        return sorted(self._requests.keys() - found.keys())

    def looked_up(
        self, asked: Iterable[str], answers: Iterable[Mapping[str, Any]], now: datetime
    ) -> list[Request]:
        """Update requests that AWS did not list, from single queries; return the ended ones."""
        found = {request.id: request for request in map(request_of, answers)}
        over = []
        for id in asked:
            request = found.get(id)
            if request is None:
                if now - self._unseen_since.setdefault(id, now) >= LOST_AFTER:
                    over.append(_lost(self._requests[id]))
                    self._strike(id)
                continue
            self._unseen_since.pop(id, None)
            if request.state in LIVE:
                self._requests[id] = request
            else:
                over.append(request)
                self._strike(id)
        return over

    def to_report(self, over: Iterable[Request]) -> list[Request]:
        """Requests that no admin has been warned of yet, the oldest first.

        Args:
            over: requests that have just ended.
        """
        new = [r for r in over if r.status in NO_USE or r.status == "lost"]
        for request in self._requests.values():
            if request.status not in NO_OFFER:
                self._reported.pop(request.id, None)
            elif self._reported.get(request.id) != request.status:
                self._reported[request.id] = request.status
                new.append(request)
        return sorted(new, key=lambda request: (request.made_at, request.id))

    def is_granted(self, id: str) -> bool:
        """Whether a request has its instance: cancelling it would end the instance's work."""
        request = self._requests.get(id)
        return request is not None and not request.is_pending

    def instance_ids(self) -> list[str]:
        return sorted(r.instance_id for r in self._requests.values() if r.instance_id)

    def pending(self) -> list[Machine]:
        """A stand-in for each instance that AWS has not started yet."""
        waiting = (r for r in self._requests.values() if r.is_pending)
        return [stand_in(request) for request in sorted(waiting, key=lambda r: r.id)]

    def _strike(self, id: str) -> None:
        for entries in (self._requests, self._unseen_since, self._reported):
            entries.pop(id, None)


def request_of(answer: Mapping[str, Any]) -> Request:
    status = answer.get("Status") or {}
    return Request(
        id=answer["SpotInstanceRequestId"],
        made_at=answer["CreateTime"],
        state=answer["State"],
        status=status.get("Code") or "",
        message=" ".join((status.get("Message") or "").split())[:400],
        instance_id=answer.get("InstanceId") or "",
    )


def stand_in(request: Request) -> Machine:
    """The machine that counts until the instance exists."""
    return Machine(
        id=request.id,
        agent_name=request.id,
        state="pending",
        launched_at=request.made_at,
        is_spot=True,
    )


def _lost(request: Request) -> Request:
    return msgspec.structs.replace(request, status="lost", message="AWS does not show it any more")
