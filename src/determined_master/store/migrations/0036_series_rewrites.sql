-- While it stays, later reports only add points to the trial's series.
ALTER TABLE trials ADD COLUMN series_rewrites bigint NOT NULL DEFAULT 0;
COMMENT ON COLUMN trials.series_rewrites IS
    'raised by every transaction that changes or archives reports of the trial';
