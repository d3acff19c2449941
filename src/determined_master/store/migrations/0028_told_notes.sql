-- What a backend has written into logs of tasks and may meet again after a restart: each is written
-- once.
CREATE TABLE told_notes (
    task_id text NOT NULL REFERENCES tasks ON DELETE CASCADE,
    key text NOT NULL,
    PRIMARY KEY (task_id, key)
);
