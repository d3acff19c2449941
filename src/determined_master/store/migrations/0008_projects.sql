-- What is set on workspaces, who pinned them, how far the deletion of them and of projects is.
ALTER TABLE workspaces
    ADD COLUMN agent_uid            integer,
    ADD COLUMN agent_gid            integer,
    ADD COLUMN agent_user           text,
    ADD COLUMN agent_group          text,
    ADD COLUMN checkpoint_storage   jsonb,
    ADD COLUMN default_compute_pool text NOT NULL DEFAULT '',
    ADD COLUMN default_aux_pool     text NOT NULL DEFAULT '',
    ADD COLUMN state                text NOT NULL DEFAULT '',
    ADD COLUMN error_message        text NOT NULL DEFAULT '';
COMMENT ON COLUMN workspaces.checkpoint_storage IS 'as it was submitted, with its secrets';
COMMENT ON COLUMN workspaces.state IS 'empty, DELETING or DELETE_FAILED';
CREATE INDEX workspaces_leaving ON workspaces (id) WHERE state = 'DELETING';

CREATE TABLE workspace_pins (
    workspace_id int NOT NULL REFERENCES workspaces (id) ON DELETE CASCADE,
    user_id      int NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    pinned_at    timestamptz NOT NULL,
    PRIMARY KEY (workspace_id, user_id)
);

ALTER TABLE projects
    ADD COLUMN state         text NOT NULL DEFAULT '',
    ADD COLUMN error_message text NOT NULL DEFAULT '';
CREATE UNIQUE INDEX projects_name ON projects (workspace_id, lower(name));
CREATE INDEX projects_leaving ON projects (id) WHERE state = 'DELETING';
CREATE INDEX experiments_of_workspace ON experiments (workspace_id);

CREATE TABLE cluster_messages (
    id         int PRIMARY KEY GENERATED ALWAYS AS IDENTITY,
    message    text        NOT NULL,
    user_id    int         NOT NULL REFERENCES users (id),
    created_at timestamptz NOT NULL,
    starts_at  timestamptz NOT NULL,
    ends_at    timestamptz
);
COMMENT ON TABLE cluster_messages IS 'the newest is the cluster''s message, until it ends';

-- How long a trial's lines are kept where that differs from its experiment; -1 is for ever.
ALTER TABLE trials ADD COLUMN log_retention_days smallint;
ALTER TABLE tasks ADD COLUMN logs_removed_at timestamptz;
CREATE INDEX tasks_with_logs ON tasks (ended_at) WHERE logs_removed_at IS NULL;
