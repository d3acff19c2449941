"""Running tasks as containers of Docker or Podman, by the API of the daemon's socket.

A container is found again by its labels. It is removed once the master has its end and all of
its output, never by itself.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from determined_agent import clock
from determined_agent.directory import ContainerDirectory, ContainerRecord, Exit
from determined_agent.environment import SHARED_FS_DIR, Start
from determined_agent.pythonpath import locate_harness
from determined_agent.runtimes.base import LaunchFailed, RuntimeUnavailable
from determined_agent.runtimes.docker_api import (
    ANSWER_S,
    DockerApi,
    DockerRefused,
    DockerUnreachable,
    Request,
)
from determined_agent.runtimes.docker_container import (
    DockerContainer,
    addresses_of,
    exit_of,
    inspect,
    is_cut_off,
    is_running,
)
from determined_agent.runtimes.docker_files import archive
from determined_agent.runtimes.docker_hints import with_hint
from determined_agent.runtimes.docker_host import docker_host
from determined_agent.runtimes.docker_images import Images
from determined_agent.runtimes.docker_output import Output
from determined_agent.runtimes.docker_spec import (
    LABEL,
    Harness,
    container_name,
    create_body,
    loopback_warning,
)
from determined_agent.runtimes.host_paths import make_dirs
from determined_agent.settings import Settings
from determined_wire.agent_link import Address, ContainerState, Failure

log = logging.getLogger(__name__)

HOME_LABEL = f"{LABEL}directory"
"""Which agent's directory a container belongs to: ids of agents may repeat on one machine."""

_CHECK_S = 15.0
_REMOVE_PAUSE_S = 1.0
_LONGEST_PAUSE_S = 30.0


class DockerRuntime:
    """Starts each task as a container."""

    def __init__(self, settings: Settings, root: Path, answer_s: float = ANSWER_S) -> None:
        """
        Args:
            settings: the agent's.
            root: the directory that holds those of the tasks.
            answer_s: how long an answer of the daemon may take.

        Raises:
            RuntimeUnavailable: the daemon's address is none.
        """
        self.name = settings.container_runtime
        self._settings = settings
        self._root = root
        try:
            address = docker_host(settings.docker_host, self.name, os.environ)
            self._api = DockerApi(address, answer_s)
        except ValueError as error:
            raise RuntimeUnavailable(str(error)) from error
        self._images = Images(self._api)
        self._harness = Harness(locate_harness())

    async def check(self) -> None:
        """Raises RuntimeUnavailable: the daemon does not answer."""
        try:
            await self._api.negotiate(_CHECK_S)
        except DockerUnreachable as error:
            raise RuntimeUnavailable(
                f"container_runtime '{self.name}': {error}; on a machine without containers "
                "`container_runtime: process` runs tasks as plain processes"
            ) from error
        await self._warn_of_restarts()

    async def _warn_of_restarts(self) -> None:
        """Say so where a restart of the daemon would end all tasks."""
        with contextlib.suppress(DockerRefused, DockerUnreachable):
            told = await self._api.call(Request(method="GET", path="/info", within_s=_CHECK_S))
            is_docker = self.name == "docker" and isinstance(told, dict)
            if is_docker and told.get("LiveRestoreEnabled") is False:
                log.warning(
                    "Docker's live-restore is off: a restart of the daemon ends the tasks of this "
                    "agent; set it in /etc/docker/daemon.json"
                )

    async def launch(
        self,
        directory: ContainerDirectory,
        start: Start,
        progress: Callable[[ContainerState], None],
    ) -> DockerContainer:
        """Have the image, create the container, put its files in place, start it.

        Raises LaunchFailed.
        """
        output = Output(self._api, "", directory.output, self._settings.log_spool_bytes)
        try:
            return await self._launch(output, start, progress)
        except LaunchFailed as error:
            output.note(error.failure.message)
            output.close()
            raise
        except BaseException:
            output.close()
            raise

    async def _launch(
        self, output: Output, start: Start, progress: Callable[[ContainerState], None]
    ) -> DockerContainer:
        try:
            await self._images.ensure(start.spec, lambda: progress("PULLING"), output.note)
            progress("STARTING")
            warning = loopback_warning(start, self._settings)
            if warning:
                output.note(warning)
            output.docker_id = await self._create_or_undo(start)
        except (DockerRefused, DockerUnreachable, ValueError, OSError) as error:
            raise LaunchFailed(_failure(error)) from error
        try:
            return await self._start(output, start)
        except (DockerRefused, DockerUnreachable, ValueError) as error:
            await self._remove_if_possible(output.docker_id)
            failure = _failure(error)
            if self.name == "podman" and isinstance(error, DockerRefused):
                # Whatever keeps a program from starting is 500 there; mostly it is the task.
                failure = Failure("task_error", failure.message)
            raise LaunchFailed(failure) from error
        except asyncio.CancelledError:
            await asyncio.shield(self._remove_if_possible(output.docker_id))
            raise

    async def _create_or_undo(self, start: Start) -> str:
        """Create it; given up meanwhile, wait for the daemon to have made it and remove it."""
        creating = asyncio.create_task(self._create(start))
        try:
            return await asyncio.shield(creating)
        except asyncio.CancelledError:
            await asyncio.wait({creating})
            if creating.exception() is None:
                await asyncio.shield(self._remove_if_possible(creating.result()))
            raise

    async def _create(self, start: Start) -> str:
        for mount in start.spec.mounts:
            if mount.container_path == SHARED_FS_DIR and os.geteuid() == 0:
                user = start.spec.user if start.spec.user.uid != 0 else None
                make_dirs(mount.host_path, 0o755, user)
        body = create_body(start, self._settings, self._harness, render_nodes(start))
        body["Labels"][HOME_LABEL] = str(self._root)
        request = Request(
            method="POST",
            path="/containers/create",
            query={"name": container_name(start)},
            body=body,
        )
        return str((await self._api.call(request))["Id"])

    async def _start(self, output: Output, start: Start) -> DockerContainer:
        docker_id = output.docker_id
        files = archive(start.spec, int(clock.now().timestamp()))
        await self._api.call(
            Request(
                method="PUT",
                path=f"/containers/{docker_id}/archive",
                query={"path": "/"},
                body=files,
            )
        )
        await self._api.call(Request(method="POST", path=f"/containers/{docker_id}/start"))
        found: dict[str, Any] = {"HostConfig": {"NetworkMode": start.spec.network_mode}}
        if start.spec.network_mode != "host":
            found = await inspect(self._api, docker_id) or found
            if is_cut_off(found):
                raise ValueError(
                    f"it has no network: the daemon at {self._api.address} runs without a bridge; "
                    "set task_container_defaults.network_mode to host, or give the daemon one"
                )
        addresses = addresses_of(found, start.spec.ports)
        return self._container(docker_id, output, addresses)

    def _container(
        self, docker_id: str, output: Output, addresses: tuple[Address, ...]
    ) -> DockerContainer:
        follows = self.name == "docker"
        return DockerContainer(self._api, docker_id, output, addresses, follows=follows)

    async def attach(
        self, directory: ContainerDirectory, record: ContainerRecord
    ) -> DockerContainer | Exit:
        """Find the container again by its labels.

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
        found = await inspect(self._api, docker_ids[0]) if docker_ids else None
        if found is None:
            text = "the agent ended before it could start the task, or someone has removed it"
            return Exit(failure=Failure("restore_error", text))
        if found["State"].get("Status") in ("created", "configured", "initialized"):
            await self._remove_if_possible(docker_ids[0])
            text = "the agent ended before it could start the task"
            return Exit(failure=Failure("restore_error", text))
        output = Output(self._api, docker_ids[0], directory.output, self._settings.log_spool_bytes)
        if is_running(found):
            addresses = addresses_of(found, record.ports)
            return self._container(docker_ids[0], output, addresses)
        try:
            await output.copy(follow=False)
        except DockerRefused as error:
            output.note(f"the output could not be read: {error}")
        output.close()
        return exit_of(found, output.dropped)

    async def remove(self, container_id: str) -> None:
        """Remove the container and what it wrote; tries until the daemon has done it."""
        if self._settings.container_auto_remove_disabled:
            log.info("kept an ended container, to look into", extra={"container": container_id})
            return
        pause_s = _REMOVE_PAUSE_S
        while True:
            try:
                for docker_id in await self._list(f"{LABEL}id={container_id}"):
                    await self._delete(docker_id)
            except (DockerRefused, DockerUnreachable):
                await asyncio.sleep(pause_s)
                pause_s = min(2 * pause_s, _LONGEST_PAUSE_S)
            else:
                return

    async def sweep(self, known: frozenset[str]) -> None:
        """End and remove containers of this agent whose directory is gone."""
        keeps_ended = self._settings.container_auto_remove_disabled
        try:
            for found in await self._listed(f"{HOME_LABEL}={self._root}"):
                is_kept = keeps_ended and found.get("State") == "exited"
                if found["Labels"].get(f"{LABEL}id") not in known and not is_kept:
                    await self._remove_if_possible(str(found["Id"]))
        except DockerUnreachable as error:
            raise RuntimeUnavailable(str(error)) from error

    async def _list(self, label: str) -> list[str]:
        return [str(found["Id"]) for found in await self._listed(label)]

    async def _listed(self, label: str) -> list[dict[str, Any]]:
        query = {"all": True, "filters": {"label": [label]}}
        request = Request(method="GET", path="/containers/json", query=query)
        return list(await self._api.call(request) or ())

    async def _delete(self, docker_id: str) -> None:
        """Raises DockerUnreachable, and DockerRefused unless it is gone or just going."""
        request = Request(
            method="DELETE",
            path=f"/containers/{docker_id}",
            query={"force": True, "v": True},
        )
        try:
            await self._api.call(request)
        except DockerRefused as error:
            if error.status not in (404, 409):
                raise

    async def _remove_if_possible(self, docker_id: str) -> None:
        try:
            await self._delete(docker_id)
        except (DockerRefused, DockerUnreachable):
            return  # the sweep at the next start finds it


def render_nodes(start: Start) -> tuple[str, ...]:
    """Device files of a container's ROCm slots: the driver's own, and those of its cards."""
    if not any(d.type == "rocm" for d in start.devices):
        return ()
    nodes = ["/dev/kfd"]
    for device in start.devices:
        nodes += (f"/dev/dri/card{device.id}", f"/dev/dri/renderD{128 + device.id}")
    return tuple(nodes)


def _failure(error: Exception) -> Failure:
    if isinstance(error, DockerRefused):
        kind = "task_error" if error.status < 500 else "agent_error"
        what = "the container could not be started"
        text = with_hint(f"{what}: {error}")
        return Failure("task_error" if kind == "task_error" else "agent_error", text)
    if isinstance(error, ValueError):
        return Failure("task_error", f"the container could not be started: {error}")
    return Failure("agent_error", f"the agent could not launch the container: {error}")
