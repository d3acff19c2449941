-- What charts of long series are drawn from: 1,024 reports of a trial, as they came, are a
-- block; of each metric a block keeps the lowest and the highest value and where they lie.
-- Blocks are made from the reports at any later time, and again when some are taken back.

CREATE TABLE metric_blocks (
    trial_id int NOT NULL,
    last_id  bigint NOT NULL,
    first_id bigint NOT NULL,
    reports  int NOT NULL,
    PRIMARY KEY (trial_id, last_id)
);
COMMENT ON COLUMN metric_blocks.last_id IS 'metrics.id of its last report: blocks have no gaps';

CREATE TABLE metric_extremes (
    trial_id     int NOT NULL,
    metric_group text NOT NULL,
    name         text NOT NULL,
    last_id      bigint NOT NULL,
    first_id     bigint NOT NULL,
    reports      int NOT NULL,
    first_steps  int NOT NULL,
    last_steps   int NOT NULL,
    low          double precision NOT NULL,
    low_steps    int NOT NULL,
    high         double precision NOT NULL,
    high_steps   int NOT NULL,
    parts        bytea NOT NULL,
    PRIMARY KEY (trial_id, metric_group, name, last_id)
);
COMMENT ON TABLE metric_extremes IS 'one row for each metric that has a number in a block';
COMMENT ON COLUMN metric_extremes.last_id IS 'of the block, as is first_id';
COMMENT ON COLUMN metric_extremes.reports IS 'of the group in the block';
COMMENT ON COLUMN metric_extremes.first_steps IS 'the lowest of those; last_steps the highest';
COMMENT ON COLUMN metric_extremes.parts IS
    'of each 64 of those: lowest, its steps, highest, its steps (double, int32, little-endian)';
ALTER TABLE metric_extremes ALTER COLUMN parts SET STORAGE PLAIN;
