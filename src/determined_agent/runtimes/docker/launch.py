"""Launches one container: its image, creation, files and start; and cleans up on failure.

A machine fault may take a minute to recover before the launch fails. A container that may be
running is removed before the launch fails, since its slots are then assigned to other tasks.
"""

from __future__ import annotations

import asyncio
import errno
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec

from determined_agent import clock
from determined_agent.container.environment import ContainerStart
from determined_agent.devices.rocm_nodes import DeviceNodeError, rocm_nodes
from determined_agent.runtimes import storage_mounts
from determined_agent.runtimes.base import LaunchFailed
from determined_agent.runtimes.docker.api import (
    DockerApi,
    DockerApiError,
    DockerUnreachable,
    Request,
)
from determined_agent.runtimes.docker.files import archive
from determined_agent.runtimes.docker.hints import is_machine_fault, with_hint
from determined_agent.runtimes.docker.images import ImagePuller
from determined_agent.runtimes.docker.inspection import addresses_of, has_no_network, inspect
from determined_agent.runtimes.docker.output import ContainerOutput
from determined_agent.runtimes.docker.spec import (
    LABEL,
    Harness,
    container_name,
    create_body,
    loopback_warning,
)
from determined_agent.runtimes.harness import locate_harness
from determined_agent.runtimes.image_forms import ImageFormError, daemon_image
from determined_agent.runtimes.task_files import make_dirs
from determined_agent.settings.options import Settings
from determined_wire.agent_link import Address, ContainerState, Failure, Mount, TaskUser
from determined_wire.backoff import Backoff

DIRECTORY_LABEL = f"{LABEL}directory"
"""The agent directory that a container belongs to: agents of one machine may share an id."""

LAUNCH_RETRY_S = 60.0
"""How long a launch is retried after faults of the machine."""
_BACKOFF = Backoff(1.0, 15.0)

ProgressCallback = Callable[[ContainerState], None]


class Launcher:
    """Starts the containers of one agent."""

    def __init__(
        self,
        api: DockerApi,
        settings: Settings,
        root: Path,
        launch_retry_s: float = LAUNCH_RETRY_S,
    ) -> None:
        """
        Args:
            api: the daemon.
            settings: the agent's.
            root: the directory that holds those of the tasks.
            launch_retry_s: how long a launch is retried after faults of the machine.
        """
        self.unanswered: set[str] = set()
        """Containers for which the daemon has not answered whether it has created them."""
        self._api = api
        self._settings = settings
        self._root = root
        self._patience_s = launch_retry_s
        self._images = ImagePuller(api)
        self._harness = Harness(locate_harness())

    async def launch(
        self, output: ContainerOutput, start: ContainerStart, progress: ProgressCallback
    ) -> tuple[Address, ...]:
        """Start a container, set the id of `output`, and return where the ports are.

        Canceling it leaves nothing running. Raises LaunchFailed.
        """
        start = self._with_image(start)
        warning = loopback_warning(start, self._settings)
        if warning:
            output.note(warning)
        give_up_s = clock.monotonic_s() + self._patience_s
        for pause_s in _BACKOFF.pauses():
            try:
                return await self._try(output, start, progress)
            except LaunchFailed as error:
                is_last = clock.monotonic_s() + pause_s > give_up_s
                if error.failure.type != "agent_error" or is_last:
                    raise
                output.note(f"{error.failure.message}; trying again in {pause_s:g} s")
            await asyncio.sleep(pause_s)
        raise AssertionError("unreachable")

    def _with_image(self, start: ContainerStart) -> ContainerStart:
        """Replace the image by the name that the daemon knows. Raises LaunchFailed."""
        try:
            image = daemon_image(start.spec.image, self._settings.container_runtime)
        except ImageFormError as error:
            raise LaunchFailed(_failure(error)) from error
        return msgspec.structs.replace(
            start, spec=msgspec.structs.replace(start.spec, image=image)
        )

    async def delete(self, docker_id: str) -> None:
        """Remove a container unless it is gone. Raises DockerUnreachable, DockerApiError."""
        request = Request(
            method="DELETE",
            path=f"/containers/{docker_id}",
            query={"force": True, "v": True},
        )
        try:
            await self._api.call(request)
        except DockerApiError as error:
            if error.status not in (404, 409):
                raise

    async def delete_if_possible(self, docker_id: str) -> None:
        """Remove a container; if that fails, the sweep at the next start does."""
        try:
            await self.delete(docker_id)
        except (DockerApiError, DockerUnreachable):
            return

    async def _try(
        self, output: ContainerOutput, start: ContainerStart, progress: ProgressCallback
    ) -> tuple[Address, ...]:
        try:
            await self._images.ensure(start.spec, lambda: progress("PULLING"), output.note)
            progress("STARTING")
            output.docker_id = await self._create_or_undo(start)
        except (DockerApiError, DockerUnreachable, ValueError, OSError) as error:
            raise LaunchFailed(_failure(error)) from error
        try:
            return await self._start_or_undo(output, start)
        except asyncio.CancelledError:
            await asyncio.shield(self.delete_if_possible(output.docker_id))
            raise

    async def _create_or_undo(self, start: ContainerStart) -> str:
        """Create it; if canceled, wait until the daemon has created it and remove it."""
        creating = asyncio.create_task(self._create(start))
        try:
            return await asyncio.shield(creating)
        except asyncio.CancelledError:
            await asyncio.wait({creating})
            if creating.exception() is None:
                await asyncio.shield(self.delete_if_possible(creating.result()))
            raise

    async def _create(self, start: ContainerStart) -> str:
        """Create it. Raises ValueError if the directory of its storage is missing.

        The daemon decides that: this agent may run in a container without that directory.
        """
        try:
            return await self._create_with_mounts(start)
        except DockerApiError as error:
            missing = [m for m in start.spec.mounts if m.if_missing and _is_missing(m, error)]
            if not missing:
                raise
            if any(m.if_missing != "skip" for m in missing):
                raise ValueError(storage_mounts.missing_text(missing[0])) from error
        mounts = tuple(m for m in start.spec.mounts if m not in missing)
        spec = msgspec.structs.replace(start.spec, mounts=mounts)
        return await self._create(msgspec.structs.replace(start, spec=spec))

    async def _create_with_mounts(self, start: ContainerStart) -> str:
        for mount in start.spec.mounts:
            if storage_mounts.is_created(mount) and storage_mounts.may_create(start.spec.user):
                _make_storage(mount.host_path, start.spec.user)
        body = create_body(start, self._settings, self._harness, await _render_nodes(start))
        body["Labels"][DIRECTORY_LABEL] = str(self._root)
        name = container_name(start)
        request = Request(
            method="POST", path="/containers/create", query={"name": name}, body=body
        )
        try:
            answer = await self._api.call(request)
        except DockerUnreachable:
            self.unanswered.add(start.container_id)
            raise
        except DockerApiError as error:
            if error.status != 409:
                raise
            await self.delete(name)  # of an earlier attempt whose answer was lost
            answer = await self._api.call(request)
        return str(answer["Id"])

    async def _start_or_undo(
        self, output: ContainerOutput, start: ContainerStart
    ) -> tuple[Address, ...]:
        try:
            return await self._start(output.docker_id, start)
        except DockerUnreachable as error:
            await self._remove_unanswered(output, error)
            raise LaunchFailed(_failure(error)) from error
        except (DockerApiError, ValueError) as error:
            await self.delete_if_possible(output.docker_id)
            raise LaunchFailed(_failure(error)) from error

    async def _start(self, docker_id: str, start: ContainerStart) -> tuple[Address, ...]:
        files = archive(start.spec, int(clock.now().timestamp()))
        path = f"/containers/{docker_id}"
        await self._api.call(
            Request(method="PUT", path=f"{path}/archive", query={"path": "/"}, body=files)
        )
        await self._api.call(Request(method="POST", path=f"{path}/start"))
        inspection: dict[str, Any] = {"HostConfig": {"NetworkMode": start.spec.network_mode}}
        if start.spec.network_mode != "host":
            inspection = await inspect(self._api, docker_id) or inspection
            if has_no_network(inspection):
                raise ValueError(
                    f"it has no network: the daemon at {self._api.address} runs without a bridge; "
                    "set task_container_defaults.network_mode to host, or give the daemon one"
                )
        return addresses_of(inspection, start.spec.ports)

    async def _remove_unanswered(self, output: ContainerOutput, error: DockerUnreachable) -> None:
        """Remove a container that the daemon may have started without answering."""
        output.note(f"{error}; waiting for it to answer whether the container runs")
        for pause_s in _BACKOFF.pauses():
            try:
                await self.delete(output.docker_id)
            except (DockerApiError, DockerUnreachable):
                await asyncio.sleep(pause_s)
            else:
                return


def _is_missing(mount: Mount, error: DockerApiError) -> bool:
    """Whether Docker or Podman refuses a container because a mounted directory is missing."""
    text = str(error).lower()
    is_refusal = "does not exist" in text or "no such file or directory" in text
    return is_refusal and mount.host_path.lower() in text


def _make_storage(path: str, user: TaskUser) -> None:
    """Create a directory. Raises OSError for a fault of the machine, otherwise ValueError."""
    try:
        make_dirs(path, 0o755, user if user.uid != 0 else None)
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EIO):
            raise
        raise ValueError(
            f"the directory {path} for checkpoints cannot be created on the agent "
            f"({error.strerror}): see checkpoint_storage.host_path"
        ) from error


async def _render_nodes(start: ContainerStart) -> tuple[str, ...]:
    """Return the device files of a container's ROCm slots. Raises ValueError."""
    ids = [d.id for d in start.devices if d.type == "rocm"]
    if not ids:
        return ()
    try:
        return await asyncio.to_thread(rocm_nodes, ids)
    except DeviceNodeError as error:
        raise ValueError(str(error)) from error


def _failure(error: Exception) -> Failure:
    text = with_hint(f"the container could not be started: {error}")
    if isinstance(error, DockerApiError) and is_machine_fault(str(error)):
        return Failure("agent_error", text)
    if isinstance(error, (DockerApiError, ValueError)):
        return Failure("task_error", text)
    return Failure("agent_error", f"the agent could not launch the container: {error}")
