-- The job queue: where a job was moved to, and what was decided from what.

ALTER TABLE experiments ADD COLUMN queue_position numeric;
COMMENT ON COLUMN experiments.queue_position IS
    'of its job in its pool, in microseconds since the epoch; NULL for the time of its submission';

CREATE TABLE plan_frames (
    pool   text COLLATE "C" NOT NULL,
    seq    bigint      NOT NULL,
    at     timestamptz NOT NULL,
    is_key boolean     NOT NULL,
    size   int         NOT NULL,
    body   bytea       NOT NULL,
    PRIMARY KEY (pool, seq)
);
ALTER TABLE plan_frames ALTER COLUMN body SET STORAGE EXTERNAL;
COMMENT ON TABLE plan_frames IS
    'the flight recorder: views and plans, zlib-compressed; a key frame is whole, others are changes';

CREATE INDEX allocations_waits ON allocations (pool, requested_at);
