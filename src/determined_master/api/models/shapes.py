"""From models and their versions to their shapes in the REST API."""

from __future__ import annotations

from determined_master.api.shapes import checkpoint, struct_of
from determined_master.domain.access.rules import Caller
from determined_master.records.models import ModelRow
from determined_master.services.models.versions import Version
from determined_wire.rest.types.model import Model, ModelVersion


def model_message(row: ModelRow) -> Model:
    """A model."""
    return struct_of(Model, row, creation_time=row.created_at, last_updated_time=row.updated_at)


def version_message(caller: Caller, version: Version) -> ModelVersion:
    """A version with its model and its checkpoint."""
    row = version.row
    return struct_of(
        ModelVersion,
        row,
        model=model_message(version.model),
        checkpoint=checkpoint(caller, version.checkpoint),
        creation_time=row.created_at,
        last_updated_time=row.updated_at,
    )
