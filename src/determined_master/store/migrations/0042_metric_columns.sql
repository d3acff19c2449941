-- Charts of many runs read some thousand reports of each. To read them one by one takes PostgreSQL
-- and the master several times what columns of numbers take: blocks keep these as well. Blocks
-- without them stay as they are, and their reports are read one by one.

CREATE TABLE metric_places (
    trial_id     int NOT NULL,
    metric_group text NOT NULL,
    last_id      bigint NOT NULL,
    first_steps  int NOT NULL,
    last_steps   int NOT NULL,
    first_at     double precision NOT NULL,
    last_at      double precision NOT NULL,
    steps        bytea NOT NULL,
    at           bytea NOT NULL,
    PRIMARY KEY (trial_id, metric_group, last_id)
);
COMMENT ON TABLE metric_places IS 'one row for each group that has reports in a block';
COMMENT ON COLUMN metric_places.last_id IS 'of the block';
COMMENT ON COLUMN metric_places.first_at IS 'unix seconds';
COMMENT ON COLUMN metric_places.steps IS 'of each report, packed by domain/metrics/columns.py';
COMMENT ON COLUMN metric_places.at IS 'of each report, packed by domain/metrics/columns.py';
ALTER TABLE metric_places ALTER COLUMN steps SET STORAGE EXTERNAL;
ALTER TABLE metric_places ALTER COLUMN at SET STORAGE EXTERNAL;

ALTER TABLE metric_charts ADD COLUMN doubles bytea;
COMMENT ON COLUMN metric_charts.doubles IS
    'a number for each report of the group, packed by domain/metrics/columns.py; null unless each '
    'of them has a finite one';
ALTER TABLE metric_charts ALTER COLUMN doubles SET STORAGE EXTERNAL;
