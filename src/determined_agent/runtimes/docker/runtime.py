"""Runs tasks as containers of Docker or Podman, over the API of the daemon's socket.

A container is found again by its labels. It is removed only when the master has stored its end
and all of its output.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from determined_agent.container.directory import (
    GONE,
    ContainerDirectory,
    ContainerRecord,
    Exit,
    unwatched,
)
from determined_agent.container.environment import ContainerStart
from determined_agent.runtimes.base import LaunchFailed, RuntimeUnavailable
from determined_agent.runtimes.docker.api import (
    ANSWER_S,
    DockerApi,
    DockerApiError,
    DockerUnreachable,
    Request,
)
from determined_agent.runtimes.docker.container import DockerContainer
from determined_agent.runtimes.docker.daemon import DataRoot, docker_host, with_disk_fault
from determined_agent.runtimes.docker.inspection import (
    addresses_of,
    exit_of,
    inspect,
    is_out_of_memory,
    is_running,
)
from determined_agent.runtimes.docker.launch import DIRECTORY_LABEL, LAUNCH_RETRY_S, Launcher
from determined_agent.runtimes.docker.output import ContainerOutput
from determined_agent.runtimes.docker.spec import LABEL
from determined_agent.settings.options import Settings
from determined_wire.agent_link import Address, ContainerState, Failure
from determined_wire.backoff import Backoff

log = logging.getLogger(__name__)

_CHECK_S = 15.0
_SETTLE_S = 5.0
_REMOVAL = Backoff(1.0, 30.0)


class DockerRuntime:
    """Runs each task as a container."""

    def __init__(
        self,
        settings: Settings,
        root: Path,
        answer_s: float = ANSWER_S,
        launch_retry_s: float = LAUNCH_RETRY_S,
    ) -> None:
        """
        Args:
            settings: the agent's.
            root: the directory that holds those of the tasks.
            answer_s: how long an answer of the daemon may take.
            launch_retry_s: how long a launch is retried after faults of the machine.

        Raises:
            RuntimeUnavailable: the daemon's address is invalid.
        """
        self.name = settings.container_runtime
        self._settings = settings
        self._root = root
        try:
            address = docker_host(settings.docker_host, self.name, os.environ)
            self._api = DockerApi(address, answer_s)
        except ValueError as error:
            raise RuntimeUnavailable(str(error)) from error
        self._data_root = DataRoot(self._api)
        self._check_s = min(_CHECK_S, answer_s)
        self._launcher = Launcher(self._api, settings, root, launch_retry_s)

    async def check(self) -> None:
        """Raise RuntimeUnavailable if the daemon does not answer."""
        try:
            await self._api.negotiate(self._check_s)
        except DockerUnreachable as error:
            raise RuntimeUnavailable(
                f"container_runtime '{self.name}': {error}; on a machine without containers "
                "`container_runtime: process` runs tasks as plain processes"
            ) from error
        await self._warn_about_live_restore()

    async def _warn_about_live_restore(self) -> None:
        """Log a warning if a restart of the daemon would end all tasks."""
        if self.name != "docker":
            return
        with contextlib.suppress(DockerApiError, DockerUnreachable):
            info = await self._api.call(
                Request(method="GET", path="/info", within_s=self._check_s)
            )
            if isinstance(info, dict) and info.get("LiveRestoreEnabled") is False:
                log.warning(
                    "Docker's live-restore is off: a restart of the daemon ends the tasks of this "
                    "agent; set it in /etc/docker/daemon.json"
                )

    async def launch(
        self,
        directory: ContainerDirectory,
        start: ContainerStart,
        progress: Callable[[ContainerState], None],
    ) -> DockerContainer:
        """Pull the image, create the container, upload its files, and start it.

        Raises LaunchFailed.
        """
        output = ContainerOutput(self._api, "", directory.output, self._settings.log_spool_bytes)
        try:
            addresses = await self._launcher.launch(output, start, progress)
        except LaunchFailed as error:
            output.note(error.failure.message)
            output.close()
            raise
        except BaseException:
            output.close()
            raise
        return self._container(output.docker_id, output, addresses)

    def _container(
        self, docker_id: str, output: ContainerOutput, addresses: tuple[Address, ...]
    ) -> DockerContainer:
        follows = self.name == "docker"
        return DockerContainer(
            self._api, docker_id, output, addresses, self._data_root, follows=follows
        )

    async def attach(
        self, directory: ContainerDirectory, record: ContainerRecord
    ) -> DockerContainer | Exit:
        """Find the container by its labels.

        Raises:
            RuntimeUnavailable: the daemon does not answer.
        """
        try:
            return await self._attach(directory, record)
        except DockerUnreachable as error:
            raise RuntimeUnavailable(str(error)) from error

    async def _attach(
        self, directory: ContainerDirectory, record: ContainerRecord
    ) -> DockerContainer | Exit:
        docker_ids = await self._list(f"{LABEL}id={record.container_id}")
        inspection = await inspect(self._api, docker_ids[0]) if docker_ids else None
        if inspection is None:
            text = f"{GONE}: the agent had not started it yet, or somebody has removed it"
            return Exit(failure=Failure("restore_error", text))
        if inspection["State"].get("Status") in ("created", "configured", "initialized"):
            await self._launcher.delete_if_possible(docker_ids[0])
            text = "the agent ended before it could start the task"
            return Exit(failure=Failure("restore_error", text))
        output = ContainerOutput(
            self._api, docker_ids[0], directory.output, self._settings.log_spool_bytes
        )
        if is_running(inspection):
            addresses = addresses_of(inspection, record.ports)
            return self._container(docker_ids[0], output, addresses)
        try:
            await output.copy(follow=False)
        except DockerApiError as error:
            output.note(f"the output could not be read: {error}")
        output.close()
        end = exit_of(inspection, output.dropped)
        if not is_out_of_memory(inspection):
            end = unwatched(end)
        return await with_disk_fault(end, self._data_root)

    async def remove(self, container_id: str) -> None:
        """Remove the container and its files; retry until the daemon has done so."""
        if self._settings.container_auto_remove_disabled:
            log.info("kept an ended container for inspection", extra={"container": container_id})
            return
        pauses = _REMOVAL.pauses()
        while True:
            try:
                for docker_id in await self._list(f"{LABEL}id={container_id}"):
                    await self._launcher.delete(docker_id)
            except (DockerApiError, DockerUnreachable):
                await asyncio.sleep(next(pauses))
            else:
                if container_id not in self._launcher.unanswered:
                    return
                # A daemon that recovers may create it only now.
                self._launcher.unanswered.discard(container_id)
                await asyncio.sleep(_SETTLE_S)

    async def sweep(self, containers: frozenset[str]) -> None:
        """Kill and remove containers of this agent that have no directory."""
        keeps_ended = self._settings.container_auto_remove_disabled
        try:
            for container in await self._listed(f"{DIRECTORY_LABEL}={self._root}"):
                is_kept = keeps_ended and container.get("State") == "exited"
                if container["Labels"].get(f"{LABEL}id") not in containers and not is_kept:
                    await self._launcher.delete_if_possible(str(container["Id"]))
        except DockerUnreachable as error:
            raise RuntimeUnavailable(str(error)) from error

    async def _list(self, label: str) -> list[str]:
        return [str(container["Id"]) for container in await self._listed(label)]

    async def _listed(self, label: str) -> list[dict[str, Any]]:
        query = {"all": True, "filters": {"label": [label]}}
        request = Request(method="GET", path="/containers/json", query=query)
        return list(await self._api.call(request) or ())
