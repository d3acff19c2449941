"""Registered checkpoints are kept: code that deletes checkpoints checks here."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from determined_master.domain.errors import InvalidArgument
from determined_master.store.models import versions as model_versions

if TYPE_CHECKING:
    from determined_master.store.db import Conn

MAX_NAMED = 10


async def check_unregistered(conn: Conn, uuids: Sequence[str]) -> None:
    """Do nothing when none of these checkpoints is a version of a model.

    Raises:
        InvalidArgument: naming the checkpoints, their models and versions.
    """
    found = await model_versions.list_registered(conn, uuids)
    if not found:
        return
    named = [
        f'{uuid} is version {version} of model "{name}"'
        for uuid, (name, version) in list(found.items())[:MAX_NAMED]
    ]
    more = f" and {len(found) - MAX_NAMED} more" if len(found) > MAX_NAMED else ""
    raise InvalidArgument(
        "this subset of checkpoints provided are in the model registry and cannot be deleted: "
        f"{', '.join(named)}{more}; delete those versions first"
    )
