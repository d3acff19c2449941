"""Columns that filter and sort lists of runs and of experiments.

The columns of the tables themselves are named here. Hyperparameters (`hp.`), metrics
(`<group>.<metric>.<figure>`) and metadata (`metadata.`) are the project's own: those of its runs.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

import msgspec

ColumnType = Literal["TEXT", "NUMBER", "DATE", "ARRAY", "UNSPECIFIED"]
ColumnLocation = Literal[
    "EXPERIMENT",
    "HYPERPARAMETERS",
    "VALIDATIONS",
    "TRAINING",
    "CUSTOM_METRIC",
    "RUN",
    "RUN_HYPERPARAMETERS",
    "RUN_METADATA",
]
Table = Literal["run", "experiment"]

FIGURES = ("last", "min", "max", "mean")
"""The statistics of a numeric metric in a summary."""


class Column(msgspec.Struct, frozen=True):
    """A column of a table itself."""

    name: str
    type: ColumnType
    title: str


EXPERIMENT_COLUMNS: tuple[Column, ...] = (
    Column("id", "NUMBER", "ID"),
    Column("name", "TEXT", "Name"),
    Column("description", "TEXT", "Description"),
    Column("tags", "TEXT", "Tags"),
    Column("forkedFrom", "NUMBER", "Forked From"),
    Column("startTime", "DATE", "Start Time"),
    Column("duration", "NUMBER", "Duration"),
    Column("numTrials", "NUMBER", "Trials"),
    Column("state", "TEXT", "State"),
    Column("searcherType", "TEXT", "Searcher"),
    Column("resourcePool", "TEXT", "Resource Pool"),
    Column("progress", "NUMBER", "Progress"),
    Column("checkpointSize", "NUMBER", "Checkpoint Size"),
    Column("checkpointCount", "NUMBER", "Checkpoints"),
    Column("user", "TEXT", "User"),
    Column("searcherMetric", "TEXT", "Searcher Metric"),
    Column("searcherMetricsVal", "NUMBER", "Searcher Metric Value"),
    Column("externalExperimentId", "TEXT", "External Experiment ID"),
)
RUN_COLUMNS: tuple[Column, ...] = (
    Column("id", "NUMBER", "Global Run ID"),
    Column("experimentDescription", "TEXT", "Search Description"),
    Column("tags", "TEXT", "Tags"),
    Column("forkedFrom", "NUMBER", "Forked From"),
    Column("startTime", "DATE", "Start Time"),
    Column("duration", "NUMBER", "Duration"),
    Column("state", "TEXT", "State"),
    Column("searcherType", "TEXT", "Searcher"),
    Column("resourcePool", "TEXT", "Resource Pool"),
    Column("checkpointSize", "NUMBER", "Checkpoint Size"),
    Column("checkpointCount", "NUMBER", "Checkpoints"),
    Column("user", "TEXT", "User"),
    Column("searcherMetric", "TEXT", "Searcher Metric"),
    Column("searcherMetricsVal", "NUMBER", "Searcher Metric Value"),
    Column("externalExperimentId", "TEXT", "External Experiment ID"),
    Column("experimentId", "NUMBER", "Search ID"),
    Column("experimentName", "TEXT", "Search Name"),
    Column("experimentProgress", "NUMBER", "Search Progress"),
    Column("isExpMultitrial", "TEXT", "Part of a Search"),
    Column("parentArchived", "TEXT", "Parent Archived"),
    Column("archived", "TEXT", "Archived"),
    Column("localId", "TEXT", "Run ID"),
    Column("logPolicyMatched", "TEXT", "Log Policy Matched"),
)
ALSO_SORTED_BY: tuple[Column, ...] = (
    Column("endTime", "DATE", "End Time"),
    Column("projectId", "NUMBER", "Project ID"),
    Column("archived", "TEXT", "Archived"),
    Column("externalRunId", "TEXT", "External Run ID"),
)
"""Accepted in filters and sorts of both tables, but not listed."""


def columns_of(table: Table) -> Mapping[str, Column]:
    """The table's own columns by name."""
    return _BY_NAME[table]


def is_projects_own(name: str) -> bool:
    """Whether a name has the form of a hyperparameter, a metric or a key of metadata."""
    if name.startswith(("hp.", "metadata.")):
        return bool(name.partition(".")[2])
    return split_metric(name) is not None


def split_metric(name: str) -> tuple[str, str, str] | None:
    """Group, metric and figure of a metric's column; None for other columns.

    Groups have no dots, metrics may.
    """
    group, _, rest = name.partition(".")
    metric, _, figure = rest.rpartition(".")
    return (group, metric, figure) if group and metric and figure in FIGURES else None


_BY_NAME: Mapping[str, Mapping[str, Column]] = {
    "run": {c.name: c for c in (*ALSO_SORTED_BY, *RUN_COLUMNS)},
    "experiment": {c.name: c for c in (*ALSO_SORTED_BY, *EXPERIMENT_COLUMNS)},
}
