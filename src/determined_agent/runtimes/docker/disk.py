"""Whether the disk that containers write to is full: tasks that die of it may not say so."""

from __future__ import annotations

import asyncio
import os

from determined_agent.runtimes.docker.api import (
    DockerApi,
    DockerRefused,
    DockerUnreachable,
    Request,
)

FULL_BELOW_BYTES = 4 * 1024**2
_ANSWER_S = 15.0


class DataRoot:
    """Where one daemon keeps its containers."""

    def __init__(self, api: DockerApi) -> None:
        self._api = api
        self._path: str | None = None

    async def fault(self) -> str:
        """What is wrong with its disk, empty when nothing is or nobody can tell.

        A daemon on another machine, or whose files this process does not see, cannot be looked
        at.
        """
        if not self._api.address.startswith("unix:"):
            return ""
        try:
            path = self._path = self._path or await self._find()
            found = await asyncio.to_thread(os.statvfs, path)
        except (OSError, DockerRefused, DockerUnreachable):
            return ""
        has_names = not found.f_files or found.f_favail
        if has_names and found.f_bavail * found.f_frsize >= FULL_BELOW_BYTES:
            return ""
        return f"the disk of Docker's data root {path} is full: remove images or data"

    async def _find(self) -> str:
        told = await self._api.call(Request(method="GET", path="/info", within_s=_ANSWER_S))
        return str(told.get("DockerRootDir") or "/nowhere")
