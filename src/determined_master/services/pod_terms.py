"""Where the pods of an allocation go, and what they are made of beside their containers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from determined_master.ports import PodTerms
from determined_master.settings_kubernetes import KubernetesManager

if TYPE_CHECKING:
    from determined_master.domain.allocation.messages import Allocation, StartContainer
    from determined_master.settings import Settings


class PodTermsReader:
    """Reads the terms of pods from the settings and the bindings of workspaces."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings

    async def read(self, state: Allocation, container: StartContainer) -> PodTerms | None:
        """The terms of one container's pod; None where it is no pod."""
        request = state.request
        config = self._settings.manager_of(request.pool).config
        if not isinstance(config, KubernetesManager):
            return None
        return PodTerms(
            pool=request.pool,
            namespace=config.default_namespace,
            job_id=request.job_id,
            priority=request.priority,
            rank=container.rank,
            pods=container.count,
        )
