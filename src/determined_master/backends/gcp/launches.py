"""Launches at GCP: one bulk insert for each offer, until one gives machines."""

from __future__ import annotations

import asyncio
import logging
import uuid
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timedelta
from functools import partial
from typing import Any, NamedTuple

from determined_master.backends.cloud.pool_offers import PoolOffers
from determined_master.backends.cloud.threads import Threads
from determined_master.backends.gcp import requests
from determined_master.backends.gcp.compute import (
    Compute,
    ComputeRefused,
    error_codes,
    problems,
    refusal_of,
)
from determined_master.backends.gcp.operations import Operations, log_outcome
from determined_master.backends.gcp.requests import ComputeTerms
from determined_master.domain.machines.gcp_names import machine_names
from determined_master.domain.machines.offers import Offer
from determined_master.domain.machines.scaling import Machine
from determined_master.ports.machines import LaunchFailed, ProviderFailed
from determined_master.settings.providers.gcp import LAUNCH_LABEL

log = logging.getLogger(__name__)
LAUNCH_PATIENCE = timedelta(seconds=25)
"""Most launches are done by then, so that failures are reported in time."""
POLL_S = 1.0
LISTED_BY = timedelta(minutes=1)
"""A machine of an insert whose answer was lost is listed by then."""
_OF_ALL = (401, 403)
"""Statuses of refusals that every offer would get."""


class Started(NamedTuple):
    machines: Sequence[Machine]
    zone: str


class Launches:
    """The launches of one pool; they never overlap."""

    def __init__(
        self,
        offers: PoolOffers,
        operations: Operations,
        threads: Threads,
        now: Callable[[], datetime],
    ) -> None:
        """
        Args:
            offers: of the pool.
            operations: follows what is not done in time.
            threads: for blocking calls.
            now: the clock.
        """
        self._offers = offers
        self._operations = operations
        self._threads = threads
        self._now = now
        self._repeated: tuple[str, datetime] | None = None
        """The token of the last repeated launch, and when it was first repeated."""

    async def launch(
        self, compute: Compute, terms: ComputeTerms, count: int, token: str, *, is_repeated: bool
    ) -> Started:
        """Try the offers in their order until one gives machines.

        Raises:
            LaunchFailed: none could be started. ProviderFailed: the outcome is unknown.
        """
        if is_repeated and not self._offers.is_single:
            return await self._threads.run(lambda: self._made_before(compute, terms, token))
        began_at, failures = self._now(), []
        for offer in self._offers.begin():
            try:
                return await self._try(compute.in_zone(offer.place), terms, offer, count, token)
            except _Refused as error:
                failures.append(str(error))
                if error.is_of_all or self._now() - began_at >= LAUNCH_PATIENCE:
                    break
        raise LaunchFailed("; ".join(dict.fromkeys(failures)))

    def found(self, compute: Compute, labels: Mapping[str, str]) -> list[dict[str, Any]]:
        """The pool's instances with these labels. Raises ProviderFailed."""
        try:
            if self._offers.is_single:
                return compute.instances(labels)
            return compute.instances_of_all_zones(labels)
        except ComputeRefused as error:
            raise ProviderFailed(str(error)) from None

    def _made_before(self, compute: Compute, terms: ComputeTerms, token: str) -> Started:
        """The machines of a launch whose answer was lost.

        Another master may have tried other offers, so none is tried again: GCP knows a token in
        one zone alone, and would start machines twice.
        """
        instances = self.found(compute, _labels(terms, token))
        if instances:
            machines = [requests.machine_of(one, terms.gcp) for one in instances]
            return Started(machines, requests.zone_of(instances[0]) or compute.zone)
        if self._repeated is None or self._repeated[0] != token:
            self._repeated = token, self._now()
        if self._now() - self._repeated[1] < LISTED_BY:
            raise ProviderFailed("GCP lists no machine yet of a launch whose answer was lost")
        raise LaunchFailed("GCP lists no machine of a launch whose answer was lost")

    async def _try(
        self, compute: Compute, terms: ComputeTerms, offer: Offer, count: int, token: str
    ) -> Started:
        # A request of its own for each offer, so that each may be repeated by itself.
        part = token
        if not self._offers.is_single:
            part = str(uuid.uuid5(uuid.UUID(token), " ".join(offer.key)))
        names, is_cut = machine_names(terms.name_prefix, part, count)
        if is_cut:
            log.warning("names of GCP's machines are shortened: provider.name_prefix is too long")
        body = requests.insert(terms, offer, names, token)
        operation = await self._threads.run(lambda: self._insert(compute, offer, body, part))
        operation = await self._settled(compute, operation)
        if operation.get("status") != "DONE" and not problems(operation):
            self._operations.follow(compute, operation, "a launch")
            machines = [requests.expected(name, offer, self._now()) for name in names]
        else:
            listed = partial(self._launched, compute, terms, operation, offer, token)
            machines = await self._threads.run(listed)
        self._offers.started(offer, len(machines))
        if len(machines) < count and (refusal := refusal_of(error_codes(operation))):
            self._offers.refused(offer, refusal)
        return Started(machines, compute.zone)

    def _insert(
        self, compute: Compute, offer: Offer, body: Mapping[str, Any], token: str
    ) -> dict[str, Any]:
        """The operation; an ended one where machines of these names exist already."""
        try:
            return compute.insert(body, token)
        except ComputeRefused as error:
            if error.status == 409:
                return {"status": "DONE", "refusal": str(error)}
            refusal = refusal_of(error.reasons)
            self._offers.refused(offer, refusal)
            raise _Refused(str(error), error.status in _OF_ALL and refusal is None) from None

    async def _settled(self, compute: Compute, operation: dict[str, Any]) -> dict[str, Any]:
        """The operation once it has ended, or after a while."""
        deadline = self._now() + LAUNCH_PATIENCE
        while operation.get("status") != "DONE" and not problems(operation):
            if self._now() >= deadline:
                break
            await asyncio.sleep(POLL_S)
            ask = partial(compute.operation, str(operation["name"]))
            try:
                operation = await self._threads.run(ask)
            except (ComputeRefused, ProviderFailed) as error:
                log.warning("a launch at GCP cannot be followed: %s", error)
                break
        return operation

    def _launched(
        self,
        compute: Compute,
        terms: ComputeTerms,
        operation: Mapping[str, Any],
        offer: Offer,
        token: str,
    ) -> list[Machine]:
        """The machines of an ended launch. Raises _Refused for none."""
        try:
            found = compute.instances(_labels(terms, token))
        except ComputeRefused as error:
            raise ProviderFailed(str(error)) from None
        if found:
            log_outcome(operation, "a launch")
            return [requests.machine_of(one, terms.gcp) for one in found]
        self._offers.refused(offer, refusal_of(error_codes(operation)))
        why = "; ".join(problems(operation)) or operation.get("refusal") or "GCP gives no reason"
        raise _Refused(
            f"GCP started no machine: {why}. Try another zone or machine type, ask for a higher "
            "quota, or wait"
        )


class _Refused(Exception):
    """An offer gave no machine."""

    def __init__(self, text: str, is_of_all: bool = False) -> None:
        super().__init__(text)
        self.is_of_all = is_of_all


def _labels(terms: ComputeTerms, token: str) -> dict[str, str]:
    return {**requests.own_labels(terms), LAUNCH_LABEL: token}
