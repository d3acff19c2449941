"""From models and their versions to their shapes in the REST API."""

from __future__ import annotations

from determined_master.api.shapes import checkpoint
from determined_master.domain.access.rules import Caller
from determined_master.records.models import ModelRow
from determined_master.services.models.versions import Version
from determined_wire.rest.types.model import Model, ModelVersion


def model_message(row: ModelRow) -> Model:
    """A model."""
    return Model(
        name=row.name,
        description=row.description,
        metadata=row.metadata,
        creation_time=row.created_at,
        last_updated_time=row.updated_at,
        id=row.id,
        num_versions=row.num_versions,
        labels=row.labels,
        username=row.username,
        workspace_id=row.workspace_id,
        user_id=row.user_id,
        archived=row.archived,
        notes=row.notes,
    )


def version_message(caller: Caller, version: Version) -> ModelVersion:
    """A version with its model and its checkpoint."""
    row = version.row
    return ModelVersion(
        model=model_message(version.model),
        checkpoint=checkpoint(caller, version.checkpoint),
        version=row.version,
        creation_time=row.created_at,
        id=row.id,
        name=row.name,
        metadata=row.metadata,
        last_updated_time=row.updated_at,
        comment=row.comment,
        username=row.username,
        user_id=row.user_id,
        labels=row.labels,
        notes=row.notes,
    )
