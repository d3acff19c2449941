"""Namespaces that were made for workspaces go with them."""

from __future__ import annotations

import asyncio
import logging

from determined_master.services.workspaces.namespaces import WorkspaceNamespaces
from determined_master.store.connection_errors import DATABASE_ERRORS

log = logging.getLogger(__name__)

PERIOD_S = 30.0


async def watch_namespaces(namespaces: WorkspaceNamespaces) -> None:
    """Look every half a minute; cancelled at the master's end."""
    while namespaces.managers:
        try:
            await namespaces.sweep()
        except DATABASE_ERRORS:
            log.exception("namespaces of deleted workspaces could not be looked for")
        await asyncio.sleep(PERIOD_S)
