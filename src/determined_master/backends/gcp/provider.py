"""Machines of GCP: instances of one pool, identified by their labels."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from functools import partial
from typing import Any, NamedTuple

from msgspec.structs import replace

from determined_master import clock
from determined_master.backends.cloud.metadata import GCP_ALIASES, GcpMetadata
from determined_master.backends.cloud.site import boot_of, master_address, resolve_host
from determined_master.backends.cloud.start_script import start_script
from determined_master.backends.cloud.threads import DEADLINE_S, Threads
from determined_master.backends.gcp import requests
from determined_master.backends.gcp.account import GoogleAccount
from determined_master.backends.gcp.compute import Compute, ComputeRefused, problems
from determined_master.backends.gcp.operations import Operations, log_outcome
from determined_master.backends.gcp.requests import ComputeTerms
from determined_master.domain.machines.gcp_names import machine_names
from determined_master.domain.machines.scaling import Machine, MachineType
from determined_master.ports import LaunchFailed, MachineSite, ProviderFailed
from determined_master.settings.gcp import LAUNCH_LABEL, GcpProvider

log = logging.getLogger(__name__)
LAUNCH_PATIENCE = timedelta(seconds=25)
"""Most launches are done by then, so that failures are reported in time."""
POLL_S = 1.0
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
        self._threads = Threads("GCP")
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

    async def launch(self, count: int, token: str) -> Sequence[Machine]:
        """Request up to `count` instances at once, and wait a while for the result."""
        try:
            async with asyncio.timeout(DEADLINE_S):
                return await self._started(count, token)
        except TimeoutError:
            text = f"GCP did not report the result of a launch in {DEADLINE_S:g} s"
            raise ProviderFailed(text) from None

    async def terminate(self, machine_ids: Sequence[str]) -> None:
        """Delete instances, each by a call of its own."""
        await self._threads.run(lambda: self._delete(machine_ids))

    async def close(self) -> None:
        """Release threads."""
        await self._threads.close()
        self._opened = None

    async def _started(self, count: int, token: str) -> Sequence[Machine]:
        compute, terms = self._ready()
        names, is_cut = machine_names(terms.name_prefix, token, count)
        if is_cut:
            log.warning("names of GCP's machines are shortened: provider.name_prefix is too long")
        operation = await self._threads.run(lambda: self._insert(names, token))
        operation = await self._settled(compute, operation)
        if operation.get("status") != "DONE" and not problems(operation):
            self._operations.follow(operation, "a launch")
            return [self._expected(name) for name in names]
        return await self._threads.run(lambda: self._launched(operation, token))

    def _ready(self) -> ComputeConnection:
        if self._opened is None:
            raise ProviderFailed("GCP: the provider of machines is not opened")
        return self._opened

    def _list(self) -> list[Machine]:
        compute, terms = self._ready()
        self._operations.look(compute)
        return self._found(requests.own_labels(terms))

    def _found(self, labels: dict[str, str]) -> list[Machine]:
        try:
            found = self._ready().compute.instances(labels)
        except ComputeRefused as error:
            raise ProviderFailed(str(error)) from None
        return [requests.machine_of(instance) for instance in found]

    def _insert(self, names: Sequence[str], token: str) -> dict[str, Any]:
        """The operation; an ended one where machines of these names exist already."""
        compute, terms = self._ready()
        try:
            return compute.insert(requests.insert(terms, names, token), token)
        except ComputeRefused as error:
            if error.status == 409:
                return {"status": "DONE", "refusal": str(error)}
            raise LaunchFailed(str(error)) from None

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

    def _launched(self, operation: dict[str, Any], token: str) -> list[Machine]:
        """The machines of an ended launch. Raises LaunchFailed for none."""
        found = self._found({**requests.own_labels(self._ready().terms), **_of_launch(token)})
        if found:
            log_outcome(operation, "a launch")
            return found
        why = "; ".join(problems(operation)) or operation.get("refusal") or "GCP gives no reason"
        raise LaunchFailed(
            f"GCP started no machine: {why}. Try another zone or machine type, ask for a higher "
            "quota, or wait"
        )

    def _expected(self, name: str) -> Machine:
        return Machine(
            id=name,
            agent_name=name,
            state="starting",
            launched_at=self._now(),
            is_spot=self._gcp.instance_type.preemptible,
        )

    def _delete(self, names: Sequence[str]) -> None:
        compute, _ = self._ready()
        failed = []
        for name in names:
            try:
                operation = compute.delete(name)
            except (ComputeRefused, ProviderFailed) as error:
                log.error("machine %s could not be ended: %s", name, error)
                failed.append(str(error))
                continue
            if operation is not None:
                self._operations.follow(operation, f"the end of {name}")
        if failed:
            raise ProviderFailed(failed[0])

    def _find_out(self) -> ComputeConnection:
        gcp, metadata = self._gcp, self._metadata
        project = gcp.project or metadata.find("project/project-id")
        zone = gcp.zone or metadata.find("instance/zone").rpartition("/")[2]
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


def _of_launch(token: str) -> dict[str, str]:
    return {LAUNCH_LABEL: token}
