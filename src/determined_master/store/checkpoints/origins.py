"""What checkpoints that outlive their experiments say of their training."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from determined_master.records.checkpoints import CheckpointOrigin
from determined_master.store.checkpoints.checkpoints import SELECT
from determined_master.store.db import Conn

_KEPT = (
    "name", "description", "labels", "entrypoint", "hyperparameters", "searcher",
    "checkpoint_storage", "resources", "workspace", "project",
)  # fmt: skip
"""Parts of a configuration. Variables and credentials of a deleted experiment are not kept."""


async def keep_origins(
    conn: Conn,
    experiment_id: int,
    uuids: Sequence[str],
    *,
    shown: Mapping[str, Any],
    digest: bytes | None,
) -> None:
    """Store the training of checkpoints before the rows of their experiment are deleted.

    A repetition changes nothing.

    Args:
        conn: a connection, in a transaction.
        experiment_id: the experiment.
        uuids: its checkpoints that stay.
        shown: its configuration without credentials.
        digest: the SHA-256 of its model definition, if it has one.
    """
    query = f"{SELECT} WHERE c.uuid = ANY ($1) AND c.experiment_id = $2"
    config = {key: shown[key] for key in _KEPT if key in shown}
    origins = [
        (
            row["uuid"],
            msgspec.to_builtins(
                CheckpointOrigin(
                    experiment_id=experiment_id,
                    trial_id=row["trial_id"],
                    experiment_config=config,
                    hparams=row["hparams"],
                    training_metrics=row["training_metrics"],
                    validation_metrics=row["validation_metrics"],
                    searcher_metric=row["searcher_metric"],
                    code_sha256=digest.hex() if digest else None,
                )
            ),
        )
        for row in await conn.fetch(query, list(uuids), experiment_id)
    ]
    insert = """
        INSERT INTO checkpoint_origins (checkpoint, origin) VALUES ($1, $2)
        ON CONFLICT DO NOTHING
    """
    await conn.executemany(insert, origins)
