-- Bindings of pools to workspaces, and what reports on usage need.

CREATE TABLE pool_bindings (
    pool         text COLLATE "C" NOT NULL,
    workspace_id int NOT NULL REFERENCES workspaces (id) ON DELETE CASCADE,
    PRIMARY KEY (pool, workspace_id)
);
COMMENT ON TABLE pool_bindings IS 'a pool with a binding serves its workspaces only';
CREATE INDEX pool_bindings_workspace ON pool_bindings (workspace_id);

ALTER TABLE allocations
    ADD COLUMN workspace_id   int,
    ADD COLUMN workspace_name text NOT NULL DEFAULT '',
    ADD COLUMN pulling_at     timestamptz,
    ADD COLUMN pulled_at      timestamptz;
COMMENT ON COLUMN allocations.workspace_id IS
    'when it was requested: its experiment may have been moved since';
COMMENT ON COLUMN allocations.pulled_at IS 'when the last of its containers had its image';
UPDATE allocations a SET workspace_id = w.id, workspace_name = w.name
  FROM tasks k JOIN experiments e ON e.id = k.experiment_id
       JOIN workspaces w ON w.id = e.workspace_id
 WHERE k.id = a.task_id;

CREATE TABLE past_allocations (
    id             text PRIMARY KEY,
    task_type      text NOT NULL,
    user_id        int NOT NULL REFERENCES users (id),
    workspace_name text NOT NULL,
    experiment_id  int,
    labels         text[] NOT NULL,
    pool           text NOT NULL,
    slots          int NOT NULL,
    requested_at   timestamptz NOT NULL,
    started_at     timestamptz,
    ended_at       timestamptz,
    pulling_at     timestamptz,
    pulled_at      timestamptz
);
COMMENT ON TABLE past_allocations IS 'what reports on usage keep of allocations that are deleted';

CREATE VIEW used_allocations AS
    SELECT a.id, k.type AS task_type, k.user_id, a.workspace_name, k.experiment_id,
           coalesce(e.labels, '{}') AS labels, a.pool, a.slots, a.requested_at, a.started_at,
           a.ended_at, a.pulling_at, a.pulled_at
      FROM allocations a
      JOIN tasks k ON k.id = a.task_id
      LEFT JOIN experiments e ON e.id = k.experiment_id
    UNION ALL
    SELECT id, task_type, user_id, workspace_name, experiment_id, labels, pool, slots,
           requested_at, started_at, ended_at, pulling_at, pulled_at
      FROM past_allocations;

CREATE TABLE usage_days (
    day     date NOT NULL,
    type    text NOT NULL,
    key     text NOT NULL,
    seconds double precision NOT NULL,
    PRIMARY KEY (day, type, key)
);
COMMENT ON TABLE usage_days IS
    'slot-seconds of a UTC day by username, experiment_label, resource_pool and in total; queued: '
    'mean seconds between request and start';

CREATE TABLE agent_stays (
    id         bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY,
    agent_id   text NOT NULL,
    pool       text NOT NULL,
    slots      int NOT NULL,
    started_at timestamptz NOT NULL,
    seen_at    timestamptz NOT NULL,
    ended_at   timestamptz
);
COMMENT ON TABLE agent_stays IS 'from when until when agents were there; seen_at is the last look';
CREATE UNIQUE INDEX agent_stays_open ON agent_stays (agent_id) WHERE ended_at IS NULL;
CREATE INDEX agent_stays_started ON agent_stays (started_at);
