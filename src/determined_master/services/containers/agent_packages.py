"""What the agent's wheel needs, for machines that reach no package index."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, Sequence
from pathlib import Path

from determined_master.domain.errors import Unavailable
from determined_wire import wheelhouse
from determined_wire.locked import BASE

log = logging.getLogger(__name__)

_NEEDED = (BASE, "agent", "storage")
_MORE = ("aws",)
"""For the journals of machines on AWS."""


class AgentPackages:
    """The wheels of the setting `wheelhouse` that agents install; none without it."""

    def __init__(self, directory: str) -> None:
        self._directory = directory

    async def archive(self) -> AsyncGenerator[bytes]:
        """The wheels as a tar archive, in pieces; an empty archive without the setting.

        Raises:
            Unavailable: the directory lacks a package of this release.
        """
        return _pieces(await asyncio.to_thread(self._files))

    def _files(self) -> Sequence[Path]:
        if not self._directory:
            return ()
        try:
            return wheelhouse.files(Path(self._directory), _NEEDED, _MORE)
        except wheelhouse.BadWheelhouseError as error:
            log.warning("no machine can be given packages: wheelhouse: %s", error)
            raise Unavailable(f"the master's setting wheelhouse: {error}") from None


async def _pieces(paths: Sequence[Path]) -> AsyncGenerator[bytes]:
    pieces = wheelhouse.archive(paths)
    while piece := await asyncio.to_thread(next, pieces, b""):
        yield piece
