-- Templates of configurations, and what the tasks that collect checkpoints shall do.

CREATE TABLE templates (
    name         text PRIMARY KEY,
    workspace_id int NOT NULL REFERENCES workspaces (id),
    config       jsonb NOT NULL
);

CREATE TABLE collections (
    task_id             text PRIMARY KEY REFERENCES tasks (id) ON DELETE CASCADE,
    experiment_id       int NOT NULL REFERENCES experiments (id) ON DELETE CASCADE,
    storage_id          int REFERENCES storage_backends (id),
    uuids               uuid[] NOT NULL,
    globs               text[] NOT NULL,
    removes_tensorboard boolean NOT NULL DEFAULT false
);
COMMENT ON COLUMN collections.storage_id IS 'NULL for the storage of the experiment''s configuration';
CREATE INDEX collections_experiment ON collections (experiment_id);
CREATE INDEX tasks_experiment ON tasks (experiment_id);
CREATE INDEX trials_warm_start ON trials (warm_start_checkpoint)
    WHERE warm_start_checkpoint IS NOT NULL;
CREATE INDEX experiments_source ON experiments ((config -> 'searcher' ->> 'source_checkpoint_uuid'))
    WHERE config -> 'searcher' ->> 'source_checkpoint_uuid' IS NOT NULL;
