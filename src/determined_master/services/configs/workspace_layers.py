"""Configuration layers of a workspace: its policies, bound pools and checkpoint storage."""

from __future__ import annotations

import msgspec

from determined_master.domain.config.layers import ConfigLayers
from determined_master.domain.config.policies.rules import Workload
from determined_master.services.configs.policies import policies_of
from determined_master.store.cluster import pool_bindings
from determined_master.store.db import Conn
from determined_master.store.workspaces.projects import ProjectRef

FIRST_PROJECT_ID = 1
"""Where experiments go whose users do not say."""


async def in_workspace(
    conn: Conn, layers: ConfigLayers, place: ProjectRef, workload: Workload = "EXPERIMENT"
) -> ConfigLayers:
    """The cluster's layers with those of the workspace of a job."""
    closed = await pool_bindings.list_closed_pools(conn, place.workspace_id)
    return msgspec.structs.replace(
        layers,
        policies=await policies_of(conn, place.workspace_id, workload),
        pools={name: pool for name, pool in layers.pools.items() if name not in closed},
        workspace_id=place.workspace_id,
        workspace_checkpoint_storage=place.checkpoint_storage,
        default_compute_pool=place.default_compute_pool or layers.default_compute_pool,
        default_aux_pool=place.default_aux_pool or layers.default_aux_pool,
    )
