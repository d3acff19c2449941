-- The charts of the web UI show the last value, the extremes and the number of values of each
-- bucket. Blocks keep these for each 32 reports, beside the extremes that the public API reads.
-- Blocks are made from the reports at any later time: those without the new rows are made again.

CREATE TABLE metric_charts (
    trial_id     int NOT NULL,
    metric_group text NOT NULL,
    name         text NOT NULL,
    last_id      bigint NOT NULL,
    reports      int NOT NULL,
    first_steps  int NOT NULL,
    last_steps   int NOT NULL,
    first_at     double precision NOT NULL,
    last_at      double precision NOT NULL,
    parts        bytea NOT NULL,
    unusual      bytea NOT NULL,
    PRIMARY KEY (trial_id, metric_group, name, last_id)
);
COMMENT ON TABLE metric_charts IS 'one row for each metric that has a value in a block';
COMMENT ON COLUMN metric_charts.last_id IS 'of the block';
COMMENT ON COLUMN metric_charts.reports IS 'those with the metric';
COMMENT ON COLUMN metric_charts.first_at IS 'unix seconds';
COMMENT ON COLUMN metric_charts.parts IS 'packed by domain/metrics/charts.py';
COMMENT ON COLUMN metric_charts.unusual IS 'NaN and infinities, packed by domain/metrics/charts.py';
ALTER TABLE metric_charts ALTER COLUMN parts SET STORAGE PLAIN;
DELETE FROM metric_extremes;
DELETE FROM metric_blocks;
