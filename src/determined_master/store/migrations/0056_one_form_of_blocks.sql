-- The public API's series are drawn from the same rows as the charts of the web UI: each part and
-- each block of a metric also keeps the steps of its extremes, and metric_extremes goes. Blocks are
-- made from the reports again when a series is read or its trial reports. No release had the table,
-- so it needs not stay for a master of the release before.

DROP TABLE IF EXISTS metric_extremes;
TRUNCATE metric_blocks, metric_charts, metric_places;

ALTER TABLE metric_charts
    ADD COLUMN IF NOT EXISTS first_id bigint NOT NULL,
    ADD COLUMN IF NOT EXISTS group_reports int NOT NULL,
    ADD COLUMN IF NOT EXISTS low double precision,
    ADD COLUMN IF NOT EXISTS low_steps bigint,
    ADD COLUMN IF NOT EXISTS high double precision,
    ADD COLUMN IF NOT EXISTS high_steps bigint;
COMMENT ON COLUMN metric_charts.first_id IS 'of the block, as is last_id';
COMMENT ON COLUMN metric_charts.group_reports IS 'those of the group, with the metric or without it';
COMMENT ON COLUMN metric_charts.low IS
    'the lowest value in the block, high the highest, with their steps; null if all are NaN';
