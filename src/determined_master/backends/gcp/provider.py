"""Machines of GCP: instances of one pool, identified by their labels."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from typing import NamedTuple

from msgspec.structs import replace

from determined_master import clock
from determined_master.backends.cloud.metadata import GCP_ALIASES, GcpMetadata
from determined_master.backends.cloud.pool_offers import PoolOffers
from determined_master.backends.cloud.site import boot_of, master_address, resolve_host
from determined_master.backends.cloud.start_script import start_script
from determined_master.backends.cloud.threads import DEADLINE_S, Threads
from determined_master.backends.gcp import requests
from determined_master.backends.gcp.account import GoogleAccount
from determined_master.backends.gcp.compute import Compute, ComputeRefused
from determined_master.backends.gcp.launches import Launches
from determined_master.backends.gcp.operations import Operations
from determined_master.backends.gcp.requests import ComputeTerms
from determined_master.domain.machines.offers import OfferReport
from determined_master.domain.machines.scaling import Machine, MachineType
from determined_master.ports.machines import MachineSite, ProviderFailed
from determined_master.settings.providers.gcp import GcpProvider

log = logging.getLogger(__name__)
MakeCompute = Callable[[str, str, Callable[[], str]], Compute]


class ComputeConnection(NamedTuple):
    compute: Compute
    terms: ComputeTerms


class GcpMachines:
    """Implements `ports.MachineProvider`."""

    def __init__(
        self,
        gcp: GcpProvider,
        site: MachineSite,
        *,
        metadata: GcpMetadata | None = None,
        make_client: MakeCompute = Compute,
        now: Callable[[], datetime] = clock.now,
    ) -> None:
        """
        Args:
            gcp: the pool's settings.
            site: facts of the master for the machines.
            metadata: the metadata service of the master's own machine.
            make_client: calls of Compute Engine in a project and zone, with a source of tokens.
            now: the clock.
        """
        self._gcp = gcp
        self._site = site
        self._metadata = metadata or GcpMetadata()
        self._make_client = make_client
        self._now = now
        self._account = GoogleAccount(self._metadata, now=now)
        self._operations = Operations(timedelta(seconds=gcp.operation_timeout_period_s), now)
        self._offers = PoolOffers(gcp.offers, gcp.max_price, now)
        self._threads = Threads("GCP")
        self._launches = Launches(self._offers, self._operations, self._threads, now)
        self._zones: dict[str, str] = {}
        """The zone of each machine that was listed or launched, by name."""
        self._opened: ComputeConnection | None = None
        self._type = requests.machine_type(gcp, gcp.zone)

    @property
    def type(self) -> MachineType:
        return self._type

    async def open(self) -> None:
        """Look up project, zone, names and the master's address, and check that GCP answers."""
        self._opened = await self._threads.run(self._find_out)
        self._type = requests.machine_type(self._gcp, self._opened.terms.zone)

    async def list_machines(self) -> Sequence[Machine]:
        """All instances in any state; also follows open operations."""
        return await self._threads.run(self._list)

    def offers(self) -> OfferReport:
        return self._offers.report()

    async def launch(
        self, count: int, token: str, *, is_repeated: bool = False
    ) -> Sequence[Machine]:
        """Request up to `count` instances of the first offer that GCP has, and wait a while."""
        compute, terms = self._ready()
        names_zone = self._zones.setdefault
        try:
            async with asyncio.timeout(DEADLINE_S):
                started = await self._launches.launch(
                    compute, terms, count, token, is_repeated=is_repeated
                )
        except TimeoutError:
            text = f"GCP did not report the result of a launch in {DEADLINE_S:g} s"
            raise ProviderFailed(text) from None
        for machine in started.machines:
            names_zone(machine.id, started.zone)
        return started.machines

    async def terminate(self, machine_ids: Sequence[str]) -> None:
        """Delete instances, each by a call of its own."""
        await self._threads.run(lambda: self._delete(machine_ids))

    async def close(self) -> None:
        """Release threads."""
        await self._threads.close()
        self._opened = None

    def _ready(self) -> ComputeConnection:
        if self._opened is None:
            raise ProviderFailed("GCP: the provider of machines is not opened")
        return self._opened

    def _list(self) -> list[Machine]:
        compute, terms = self._ready()
        self._operations.look()
        found = self._launches.found(compute, requests.own_labels(terms))
        self._zones |= {one["name"]: requests.zone_of(one) for one in found}
        return [requests.machine_of(instance, self._gcp) for instance in found]

    def _delete(self, names: Sequence[str]) -> None:
        failed = []
        for name in names:
            try:
                self._delete_one(name)
            except (ComputeRefused, ProviderFailed) as error:
                log.error("machine %s could not be ended: %s", name, error)
                failed.append(str(error))
        if failed:
            raise ProviderFailed(failed[0])

    def _delete_one(self, name: str) -> None:
        compute, _ = self._ready()
        zone = self._zones.get(name)
        for place in [zone] if zone is not None else (self._gcp.zones or ("",)):
            one = compute.in_zone(place)
            operation = one.delete(name)
            if operation is not None:
                self._operations.follow(one, operation, f"the end of {name}")
                return

    def _find_out(self) -> ComputeConnection:
        gcp, metadata = self._gcp, self._metadata
        project = gcp.project or metadata.find("project/project-id")
        zone = next(iter(gcp.zones), gcp.zone)
        zone = zone or metadata.find("instance/zone").rpartition("/")[2]
        for key, value in (("project", project), ("zone", zone)):
            if not value:
                raise ProviderFailed(
                    f"GCP: the {key} is unknown, since the master does not run there: set "
                    f"provider.{key}"
                )
        before = self._opened
        if before is not None:  # it keeps its first names, even if the service now has others
            label, prefix = before.terms.label_value, before.terms.name_prefix
        else:
            own_name = requests.default_name(metadata.find("instance/name"))
            label, prefix = gcp.label_value or own_name, gcp.name_prefix or f"{own_name}-"
        boot = boot_of(gcp, self._site)
        host = resolve_host(boot.master_host, GCP_ALIASES, metadata.find_host, "GCP")
        boot = replace(
            boot,
            master_host=host,
            identity=metadata.identity(),
            slot_type=requests.slot_type(gcp),
            log_options=requests.log_options(gcp),
            journal=requests.journal_target(gcp),
        )
        terms = ComputeTerms(
            gcp=gcp,
            site=self._site,
            project=project,
            zone=zone,
            label_value=label,
            name_prefix=prefix,
            master_host=host,
            master_port=boot.master_port,
            master_address=master_address(boot),
            script=start_script(boot),
        )
        self._account.token()
        return ComputeConnection(self._make_client(project, zone, self._account.token), terms)
