-- Programs that users run without an experiment.

CREATE TABLE generic_tasks (
    task_id       text PRIMARY KEY REFERENCES tasks (id) ON DELETE CASCADE,
    state         text NOT NULL,
    reason        text NOT NULL DEFAULT '',
    submitted     jsonb NOT NULL,
    config        jsonb NOT NULL,
    context       bytea REFERENCES model_definitions (digest),
    parent_id     text REFERENCES generic_tasks (task_id) ON DELETE SET NULL,
    forked_from   text,
    no_pause      boolean,
    project_id    int REFERENCES projects (id) ON DELETE SET NULL,
    workspace_id  int REFERENCES workspaces (id) ON DELETE SET NULL
);
COMMENT ON COLUMN generic_tasks.submitted IS 'the configuration as its user gave it';
COMMENT ON COLUMN generic_tasks.config IS 'the completed configuration';
COMMENT ON COLUMN generic_tasks.context IS 'the directory that it starts in';
COMMENT ON COLUMN generic_tasks.no_pause IS 'null: its parent does not pause it, users may';
CREATE INDEX generic_tasks_parent ON generic_tasks (parent_id) WHERE parent_id IS NOT NULL;
CREATE INDEX generic_tasks_context ON generic_tasks (context) WHERE context IS NOT NULL;
