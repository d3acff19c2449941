"""From rows to the shapes of the REST API: what several resources share."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from functools import cache
from typing import Any, TypeVar

import msgspec

from determined_master import clock
from determined_master.api.http.exchange import Http
from determined_master.domain.access.rules import Caller, can
from determined_master.domain.config.masking import mask_but_storage, without_storage_keys
from determined_master.domain.listing.paging import Page, page_of
from determined_master.records.checkpoints import CheckpointOrigin, CheckpointRow
from determined_master.records.metrics import StoredReport
from determined_wire.rest.types.checkpoint import (
    Checkpoint,
    CheckpointState,
    CheckpointTrainingMetadata,
)
from determined_wire.rest.types.common import Metrics
from determined_wire.rest.types.shared import Pagination
from determined_wire.rest.types.trial import CheckpointWorkload, MetricsWorkload

T = TypeVar("T")
MAX_WARNINGS = 10


def struct_of(struct_type: type[T], source: msgspec.Struct, **others: Any) -> T:
    """A message or record with the fields of another one that have the same names.

    Args:
        struct_type: of the result.
        source: a row or a part of one, or a request.
        others: fields that the source does not have, or has in another form.
    """
    struct: Any = struct_type
    names = _common_names(struct.__struct_fields__, source.__struct_fields__)
    return struct_type(**{name: getattr(source, name) for name in names} | others)


@cache
def _common_names(names: tuple[str, ...], others: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(name for name in names if name in others)


def add_config_warnings(http: Http, warnings: Sequence[str]) -> None:
    """Answer with warnings about a configuration.

    The list of a response has two words only, so warnings about a text have a header of their own.
    """
    if warnings:
        texts = [text.encode("ascii", "replace").decode() for text in warnings[:MAX_WARNINGS]]
        http.set_headers.append((b"x-determined-config-warnings", msgspec.json.encode(texts)))


def pagination(page: Page) -> Pagination:
    """Which part of a list is shown."""
    return Pagination(
        offset=page.offset,
        limit=page.limit,
        start_index=page.start,
        end_index=page.end,
        total=page.total,
    )


def cut(
    items: Sequence[T], offset: int, limit: int, default_limit: int = 0
) -> tuple[Sequence[T], Pagination]:
    """The part of a list that a request asks for."""
    page = page_of(len(items), offset, limit, default_limit=default_limit, takes_minus_one=True)
    return items[page.start : page.end], pagination(page)


def seconds_between(start: datetime, end: datetime | None) -> float:
    """How long something took, or takes until now."""
    return ((end or clock.now()) - start).total_seconds()


def metrics_workload(
    row: StoredReport | None, *, with_batches: bool = False
) -> MetricsWorkload | None:
    """A report as a workload of its trial."""
    if row is None:
        return None
    batches = row.batch_metrics or () if with_batches else ()
    return MetricsWorkload(
        end_time=row.reported_at,
        metrics=Metrics(avg_metrics=row.metrics, batch_metrics=batches),
        num_inputs=0,
        total_batches=row.steps,
    )


def checkpoint_workload(
    row: CheckpointRow | None, *, with_metadata: bool = False
) -> CheckpointWorkload | None:
    """A checkpoint as a workload of its trial."""
    if row is None:
        return None
    return CheckpointWorkload(
        uuid=row.uuid,
        end_time=row.reported_at,
        state=CheckpointState[f"STATE_{row.state}"],
        resources=row.resources,
        total_batches=row.steps,
        metadata=row.metadata if with_metadata else None,
    )


def checkpoint(caller: Caller, row: CheckpointRow) -> Checkpoint:
    """A checkpoint with its training metrics; storage keys only for callers who may edit it."""
    source: CheckpointRow | CheckpointOrigin = row
    config = _shown(caller, row)
    if row.experiment_id is None and row.origin is not None:
        source = msgspec.convert(row.origin, CheckpointOrigin)
        config = source.experiment_config
    training = CheckpointTrainingMetadata(
        trial_id=source.trial_id,
        experiment_id=source.experiment_id,
        experiment_config=config,
        hparams=source.hparams,
        training_metrics=_metrics(source.training_metrics),
        validation_metrics=_metrics(source.validation_metrics),
        searcher_metric=source.searcher_metric,
    )
    return struct_of(
        Checkpoint,
        row,
        task_id=row.task_id or "",
        report_time=row.reported_at,
        state=CheckpointState[f"STATE_{row.state}"],
        training=training,
    )


def _shown(caller: Caller, row: CheckpointRow) -> dict[str, Any] | None:
    if row.experiment_config is None:
        return None
    place = {"owner_id": row.owner_id, "workspace_id": row.workspace_id}
    if can(caller, "edit", "experiment", **place):
        return mask_but_storage(row.experiment_config)
    return without_storage_keys(row.experiment_config)


def _metrics(values: dict[str, object] | None) -> Metrics:
    return Metrics(avg_metrics=values, batch_metrics=())
