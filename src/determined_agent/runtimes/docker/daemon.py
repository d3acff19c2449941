"""The daemon of an agent: the address it listens at, and the disk it stores containers on."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Mapping
from pathlib import Path

import msgspec

from determined_agent.container.directory import Exit
from determined_agent.runtimes.docker.api import (
    DockerApi,
    DockerApiError,
    DockerUnreachable,
    Request,
)

DOCKER = "unix:///var/run/docker.sock"
PODMAN = "unix:///run/podman/podman.sock"
FULL_BELOW_BYTES = 4 * 1024**2
_ANSWER_S = 15.0


def docker_host(setting: str, runtime: str, env: Mapping[str, str]) -> str:
    """Return the daemon's address.

    The setting wins, then DOCKER_HOST, then the default socket of Docker or Podman. A Podman
    service of the agent's own user takes precedence over that of the machine.
    """
    if setting or env.get("DOCKER_HOST"):
        return setting or env["DOCKER_HOST"]
    if runtime != "podman":
        return DOCKER
    own = Path(env.get("XDG_RUNTIME_DIR") or f"/run/user/{os.getuid()}") / "podman/podman.sock"
    return f"unix://{own}" if own.exists() else PODMAN


class DataRoot:
    """The directory where a daemon stores its containers.

    Tasks that fail because the disk is full may not say so.
    """

    def __init__(self, api: DockerApi) -> None:
        self._api = api
        self._path: str | None = None

    async def fault(self) -> str:
        """Return what is wrong with the disk; an empty text if nothing is, or it is unknown.

        The disk cannot be checked if the daemon runs on another machine, or if this process does
        not see its files.
        """
        if not self._api.address.startswith("unix:"):
            return ""
        try:
            path = self._path = self._path or await self._find()
            status = await asyncio.to_thread(os.statvfs, path)
        except (OSError, DockerApiError, DockerUnreachable):
            return ""
        has_inodes = not status.f_files or status.f_favail
        if has_inodes and status.f_bavail * status.f_frsize >= FULL_BELOW_BYTES:
            return ""
        return f"the disk of Docker's data root {path} is full: remove images or data"

    async def _find(self) -> str:
        info = await self._api.call(Request(method="GET", path="/info", within_s=_ANSWER_S))
        return str(info.get("DockerRootDir") or "/nowhere")


async def with_disk_fault(end: Exit, data_root: DataRoot) -> Exit:
    """Add a fault of the disk to the end of a container that has failed by itself."""
    failure = end.failure
    if failure is None or failure.type != "container_failed":
        return end
    fault = await data_root.fault()
    if not fault:
        return end
    explained = msgspec.structs.replace(failure, message=f"{failure.message} ({fault})")
    return msgspec.structs.replace(end, failure=explained)
