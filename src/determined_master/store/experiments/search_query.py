"""How the search language reads the table of experiments."""

from __future__ import annotations

from determined_master.store.listing.sql import TableSql

EXPERIMENTS = TableSql(
    name="experiment",
    source="experiments e",
    key="e.id",
    archived="e.archived",
    expressions={
        "id": "e.id",
        "name": "e.name",
        "description": "e.description",
        "tags": "array_to_string(e.labels, ',')",
        "forkedFrom": "e.forked_from",
        "startTime": "e.started_at",
        "endTime": "e.ended_at",
        "duration": "extract(epoch FROM coalesce(e.ended_at, now()) - e.started_at)",
        "numTrials": "e.num_trials",
        "state": "e.state",
        "searcherType": "e.searcher_type",
        "resourcePool": "e.resource_pool",
        "progress": "e.progress",
        "checkpointSize": "e.checkpoint_size",
        "checkpointCount": "e.checkpoint_count",
        "user": "coalesce(nullif(u.display_name, ''), u.username)",
        "searcherMetric": "e.searcher_metric",
        "searcherMetricsVal": "CASE WHEN e.smaller_is_better"
        " THEN e.best_metric ELSE -e.best_metric END",
        "externalExperimentId": "e.external_id",
        "externalRunId": "NULL::text",
        "projectId": "e.project_id",
        "archived": "e.archived::text",
    },
    joins={"u": "JOIN users u ON u.id = e.user_id"},
    run_of_metric="e.best_trial_id",
    project="e.project_id",
    has_run="e.id IN (SELECT x.experiment_id FROM runs x WHERE x.id IN ({runs}))",
)
"""A metric is that of the best trial; a search has a hyperparameter if one of its runs has it."""
