"""Runs the containers of this agent: applies events to their states and performs the effects.

Everything runs in one event loop, so a step and its effects are never interleaved with those of
another container.
"""

from __future__ import annotations

import asyncio
import logging
import re
from functools import partial
from pathlib import Path
from typing import Protocol, assert_never

from determined_agent.container import states
from determined_agent.container.directory import (
    ContainerDirectory,
    ContainerRecord,
    Exit,
    list_directories,
)
from determined_agent.container.environment import ContainerStart, MasterIdentity
from determined_agent.container.mounts import MountNotAllowed, with_real_mounts
from determined_agent.container.trust import with_master_certificate
from determined_agent.logs.shipper import LogLink, LogShipper
from determined_agent.runtimes.base import Handle, LaunchFailed, Runtime
from determined_agent.settings.options import TlsSettings
from determined_wire.agent_link import (
    ContainerReport,
    ContainerState,
    Device,
    Failure,
    ForgetContainer,
    LogStored,
    Order,
    SignalContainer,
    StartContainer,
    UnreadableOrder,
    Welcome,
)

log = logging.getLogger(__name__)

SHIP_FIRST_S = 3.0
"""How long an end waits until the last output is stored; its slots are in use until then."""
NO_TLS = TlsSettings()
START = str(StartContainer.__struct_config__.tag)
_CONTAINER_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,127}")


class ReportLink(LogLink, Protocol):
    """The link that states and output are sent over."""

    def report(self, report: ContainerReport) -> None:
        """Send a container's state reliably and in order."""


class _Entry:
    def __init__(
        self,
        container: states.Container,
        record: ContainerRecord,
        directory: ContainerDirectory,
        shipper: LogShipper,
    ) -> None:
        self.container = container
        self.record = record
        self.directory = directory
        self.shipper = shipper
        self.handle: Handle | None = None
        self.task: asyncio.Task[None] | None = None
        self.shipping: asyncio.Task[None] | None = None


class Supervisor:
    """The containers of this agent."""

    def __init__(
        self,
        runtime: Runtime,
        devices: tuple[Device, ...],
        root: Path,
        link: ReportLink,
        tls: TlsSettings = NO_TLS,
    ) -> None:
        """
        Args:
            runtime: the container runtime.
            devices: all slots of this machine.
            root: the parent of the containers' directories.
            link: the link to the master.
            tls: the authorities that the agent and its tasks trust.
        """
        self._tls = tls
        self._cluster_id, self._epoch = "", 0
        self._runtime = runtime
        self._devices = {d.id: d for d in devices}
        self._root = root
        self._link = link
        self._entries: dict[str, _Entry] = {}
        self._master = MasterIdentity()
        self._removals: set[asyncio.Task[None]] = set()

    async def attach_all(self) -> None:
        """Find all containers that an earlier agent has left running or ended."""
        unreadable = []
        for directory in list_directories(self._root):
            record = directory.record()
            if record is None:
                unreadable.append(directory)
                continue
            if record.epoch > self._epoch:
                self._cluster_id, self._epoch = record.cluster_id, record.epoch
            entry = self._add(record, directory)
            handle = await self._runtime.attach(directory, record)
            if isinstance(handle, Exit):
                self._end(entry, handle)
            else:
                entry.handle = handle
                self._step(entry, states.Launched(handle.addresses()))
                entry.task = asyncio.create_task(self._watch(entry, handle))
        await self._runtime.sweep(frozenset(self._entries))
        for directory in unreadable:  # nothing runs there any more
            self._remove_files(directory)

    async def detach(self) -> None:
        """Stop watching all containers; they keep running."""
        tasks = list(self._removals)
        for entry in self._entries.values():
            tasks += [t for t in (entry.task, entry.shipping) if t is not None]
            entry.shipper.save()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        for entry in self._entries.values():
            if entry.handle is not None:
                entry.handle.detach()

    def reports(self) -> tuple[ContainerReport, ...]:
        return tuple(e.container.report for e in self._entries.values())

    def newest_master(self) -> tuple[str, int]:
        return self._cluster_id, self._epoch

    def welcome(self, welcome: Welcome) -> None:
        """Handle that a master has accepted the agent: kill containers that it does not keep."""
        self._cluster_id, self._epoch = welcome.cluster_id, welcome.epoch
        self._master = MasterIdentity(master_id=welcome.master_id, cluster_id=welcome.cluster_id)
        keep = frozenset(welcome.keep)
        for entry in list(self._entries.values()):
            if entry.container.container_id not in keep:
                self._step(entry, states.Unwanted())

    async def end_unwanted(self, container_ids: tuple[str, ...], timeout_s: float) -> None:
        """Kill containers that the master has given up, and wait a limited time for them."""
        ending = []
        for container_id in container_ids:
            entry = self._entries.get(container_id)
            if entry is not None and entry.container.state != "TERMINATED":
                log.warning(
                    "killing a container that the master has given up",
                    extra={"container": container_id},
                )
                self._step(entry, states.Unwanted())
                ending += [entry.task] if entry.task is not None else []
        if ending:
            await asyncio.wait(ending, timeout=timeout_s)

    def handle_order(self, order: Order) -> None:
        """Carry an order out, or store it so that it survives a restart of the agent."""
        if isinstance(order, StartContainer):
            self._start(order)
            return
        entry = self._entries.get(order.container_id)
        if entry is None:
            log.info("order for an unknown container", extra=_fields(order))
            if isinstance(order, SignalContainer) and order.allocation_id:
                self._link.report(never_started(order))
        elif isinstance(order, SignalContainer):
            self._step(entry, states.SignalOrdered(order.signal))
        elif isinstance(order, ForgetContainer):
            self._step(entry, states.ForgetOrdered())
        else:
            assert_never(order)

    def refuse_order(self, order: UnreadableOrder) -> None:
        """Report that an order cannot be read; a container that it would start has failed."""
        log.error(
            "refused an order that cannot be read",
            extra={"order": order.kind, "number": order.number, "reason": order.reason},
        )
        if order.kind == START and order.container_id not in self._entries:
            self._link.report(refused_start(order))

    def log_stored(self, message: LogStored) -> None:
        entry = self._entries.get(message.container_id)
        if entry is not None:
            entry.shipper.stored(message.seq, is_last=message.is_last)

    def disconnected(self) -> None:
        """Handle the loss of the connection to the master."""
        for entry in self._entries.values():
            entry.shipper.disconnected()

    def _start(self, order: StartContainer) -> None:
        if order.container_id in self._entries:
            return
        if not _CONTAINER_ID.fullmatch(order.container_id):
            log.error("refused a container: its id is not a valid file name", extra=_fields(order))
            return
        devices = [self._devices[s] for s in order.slot_ids if s in self._devices]
        record = ContainerRecord(
            container_id=order.container_id,
            allocation_id=order.allocation_id,
            task_id=order.spec.task_id,
            slot_ids=order.slot_ids,
            device_uuids=tuple(d.uuid for d in devices if d.uuid),
            ports=order.spec.ports,
            cluster_id=self._master.cluster_id,
            epoch=order.epoch,
        )
        directory = ContainerDirectory(self._root / order.container_id)
        problem, spec = None, order.spec
        try:
            directory.create(record)
            spec = with_master_certificate(spec, self._tls)
        except OSError as error:
            problem = f"cannot create or read {error.filename}: {error.strerror}"
        entry = self._add(record, directory)
        missing = [s for s in order.slot_ids if s not in self._devices]
        if missing:
            problem = f"slots {missing} are not on this agent, which has {sorted(self._devices)}"
        if problem is not None:
            self._end(entry, Exit(failure=Failure("agent_error", problem)))
            return
        start = ContainerStart(
            container_id=order.container_id,
            devices=tuple(devices),
            spec=spec,
            master=self._master,
        )
        entry.task = asyncio.create_task(self._launch(entry, start))
        entry.task.add_done_callback(partial(self._launch_done, entry))

    def _launch_done(self, entry: _Entry, task: asyncio.Task[None]) -> None:
        """Handle a launch that was canceled before its first step, which cannot do so itself."""
        if task.cancelled() and entry.container.is_aborting:
            self._step(entry, states.LaunchCanceled())
            entry.shipper.finish(Exit())

    async def _launch(self, entry: _Entry, start: ContainerStart) -> None:
        def progress(state: ContainerState) -> None:
            self._step(entry, states.Progressed(state))

        try:
            await self._wait_for_devices(entry)
            real = await asyncio.to_thread(with_real_mounts, start)
            handle = await self._runtime.launch(entry.directory, real, progress)
        except MountNotAllowed as error:
            self._end(entry, Exit(failure=Failure("task_error", str(error))))
            return
        except LaunchFailed as error:
            self._end(entry, Exit(failure=error.failure))
            return
        entry.handle = handle
        self._step(entry, states.Launched(handle.addresses()))
        await self._watch(entry, handle)

    async def _wait_for_devices(self, entry: _Entry) -> None:
        """Wait for earlier containers that use the same devices.

        When the master gives an agent up, it may assign its slots again, and the returning agent
        must first kill the containers there.
        """
        devices = set(entry.record.device_uuids)
        for earlier in list(self._entries.values()):
            if earlier is entry:
                return
            if devices.isdisjoint(earlier.record.device_uuids) or earlier.task is None:
                continue
            if earlier.container.state != "TERMINATED":
                log.info(
                    "waiting for a container that still uses the devices",
                    extra={
                        "container": entry.record.container_id,
                        "holder": earlier.record.container_id,
                    },
                )
                await asyncio.wait({earlier.task})

    async def _watch(self, entry: _Entry, handle: Handle) -> None:
        end = await handle.wait()
        # The master adds the end to the task's log, after the task's own output.
        entry.shipper.finish(end)
        if entry.shipping is not None:
            await asyncio.wait({entry.shipping}, timeout=SHIP_FIRST_S)
        handle.detach()
        self._end(entry, end)

    def _end(self, entry: _Entry, end: Exit) -> None:
        entry.shipper.finish(end)
        self._step(entry, states.Ended(end.exit_code, end.failure))

    async def _ship_output(self, entry: _Entry) -> None:
        await entry.shipper.run()
        self._step(entry, states.OutputStored())

    def _add(self, record: ContainerRecord, directory: ContainerDirectory) -> _Entry:
        container = states.Container(
            container_id=record.container_id, allocation_id=record.allocation_id
        )
        entry = _Entry(container, record, directory, LogShipper(record, directory, self._link))
        self._entries[record.container_id] = entry
        entry.shipping = asyncio.create_task(self._ship_output(entry))
        return entry

    def _step(self, entry: _Entry, event: states.ContainerEvent) -> None:
        entry.container, effects = states.step(entry.container, event)
        for effect in effects:
            self._run(entry, effect)

    def _run(self, entry: _Entry, effect: states.ContainerEffect) -> None:
        match effect:
            case states.Report(report=report):
                log.info(
                    "container changed",
                    extra={"container": report.container_id, "state": report.state},
                )
                self._link.report(report)
            case states.SendSignal(number=number):
                if entry.handle is not None:
                    entry.handle.signal(number)
            case states.CancelLaunch():
                if entry.task is not None:
                    entry.task.cancel()
            case states.Remove():
                del self._entries[entry.container.container_id]
                self._remove(entry.directory)
            case _:
                assert_never(effect)

    def _remove(self, directory: ContainerDirectory) -> None:
        self._keep(asyncio.create_task(self._remove_all(directory)))

    async def _remove_all(self, directory: ContainerDirectory) -> None:
        """Remove the container, then its directory: if interrupted, a restarted agent retries."""
        await self._runtime.remove(directory.container_id)
        await asyncio.to_thread(directory.remove)

    def _remove_files(self, directory: ContainerDirectory) -> None:
        self._keep(asyncio.create_task(asyncio.to_thread(directory.remove)))

    def _keep(self, task: asyncio.Task[None]) -> None:
        self._removals.add(task)
        task.add_done_callback(self._removals.discard)


def refused_start(order: UnreadableOrder) -> ContainerReport:
    """Report the end of a container whose order could not be read."""
    return ContainerReport(
        container_id=order.container_id,
        allocation_id=order.allocation_id,
        state="TERMINATED",
        failure=Failure(
            "task_error",
            f"the agent cannot read the order to start this container: {order.reason}",
        ),
    )


def never_started(order: SignalContainer) -> ContainerReport:
    """Report the end of an unknown container, for which the master would otherwise wait."""
    return ContainerReport(
        container_id=order.container_id,
        allocation_id=order.allocation_id,
        state="TERMINATED",
        failure=Failure("container_aborted", "ended before it ran"),
    )


def _fields(order: Order) -> dict[str, object]:
    return {"container": order.container_id, "order": type(order).__name__}
