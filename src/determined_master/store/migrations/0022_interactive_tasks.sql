-- Commands, notebooks, shells and TensorBoards.

CREATE TABLE interactive_tasks (
    task_id       text PRIMARY KEY REFERENCES tasks (id) ON DELETE CASCADE,
    state         text NOT NULL,
    exit_status   text NOT NULL DEFAULT '',
    config        jsonb NOT NULL,
    context       bytea REFERENCES model_definitions (digest),
    workspace_id  int REFERENCES workspaces (id) ON DELETE SET NULL,
    port          int,
    experiment_ids int[] NOT NULL DEFAULT '{}',
    trial_ids     int[] NOT NULL DEFAULT '{}',
    active_at     timestamptz,
    queue_position numeric
);
COMMENT ON COLUMN interactive_tasks.config IS 'the completed configuration';
COMMENT ON COLUMN interactive_tasks.context IS 'the directory that it starts in';
COMMENT ON COLUMN interactive_tasks.port IS 'where its server listens in the container';
COMMENT ON COLUMN interactive_tasks.experiment_ids IS 'what a TensorBoard shows, beside trials';
COMMENT ON COLUMN interactive_tasks.active_at IS 'when its program last said that it is used';
CREATE INDEX interactive_tasks_context ON interactive_tasks (context) WHERE context IS NOT NULL;
CREATE INDEX interactive_tasks_workspace ON interactive_tasks (workspace_id);
CREATE INDEX tasks_interactive ON tasks (type, ended_at)
    WHERE trial_id IS NULL AND experiment_id IS NULL;
