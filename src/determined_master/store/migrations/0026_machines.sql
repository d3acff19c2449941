-- Machines on demand: which were there when, and which were asked for.

CREATE TABLE machine_stays (
    id         bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY,
    pool       text NOT NULL,
    machine_id text NOT NULL,
    agent_name text NOT NULL,
    state      text NOT NULL,
    is_spot    boolean NOT NULL,
    slots      int NOT NULL,
    started_at timestamptz NOT NULL,
    seen_at    timestamptz NOT NULL,
    leaving_at timestamptz,
    ended_at   timestamptz
);
COMMENT ON TABLE machine_stays IS
    'from when until when machines were there; seen_at is the last look, leaving_at when their '
    'provider was asked to end them';
CREATE UNIQUE INDEX machine_stays_open ON machine_stays (pool, machine_id) WHERE ended_at IS NULL;
CREATE INDEX machine_stays_started ON machine_stays (started_at);

CREATE TABLE machine_launches (
    token    text PRIMARY KEY,
    pool     text NOT NULL,
    count    int NOT NULL,
    asked_at timestamptz NOT NULL
);
COMMENT ON TABLE machine_launches IS
    'orders to a provider whose answer is not known yet: given again with the same token';
