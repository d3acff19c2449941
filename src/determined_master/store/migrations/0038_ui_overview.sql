-- What the web UI's overview of a user finds: their failures since they last looked.
CREATE TABLE ui_visits (
    user_id    int PRIMARY KEY REFERENCES users (id) ON DELETE CASCADE,
    visited_at timestamptz NOT NULL
);
COMMENT ON TABLE ui_visits IS 'when each user last saw their overview';
CREATE INDEX experiments_failed ON experiments (user_id, ended_at) WHERE state = 'ERROR';
CREATE INDEX tasks_of_user ON tasks (user_id, ended_at)
    WHERE trial_id IS NULL AND experiment_id IS NULL;
