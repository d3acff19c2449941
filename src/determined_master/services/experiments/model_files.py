"""Use cases of the single files that experiments were submitted with."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from determined_master.domain.errors import NotFound
from determined_master.domain.experiment.model_definition import ListedFile, list_files, read_file

if TYPE_CHECKING:
    from determined_master.domain.access.rules import Caller
    from determined_master.services.experiments.service import Experiments


class ModelFiles:
    """Files in model directories."""

    def __init__(self, experiments: Experiments) -> None:
        self._experiments = experiments

    async def tree(self, caller: Caller, experiment_id: int) -> list[ListedFile]:
        """All files and directories, directories first; none without a model directory."""
        tgz = await self._experiments.model_definition(caller, experiment_id)
        return await asyncio.to_thread(list_files, tgz)

    async def read(self, caller: Caller, experiment_id: int, path: str) -> bytes:
        """The contents of one file.

        Raises:
            NotFound: there is no such experiment, or no such file.
        """
        tgz = await self._experiments.model_definition(caller, experiment_id)
        found = await asyncio.to_thread(read_file, tgz, path)
        if found is None:
            raise NotFound(
                f"file does not exist: '{path}' in the model directory of experiment "
                f"{experiment_id}"
            )
        return found
