-- A summary of 100 metrics is five times the work of the report that changes it, so it is kept
-- in memory and written once a while. It is stale while the two versions differ.
ALTER TABLE trials
    ADD COLUMN metrics_version bigint NOT NULL DEFAULT 0,
    ADD COLUMN summary_version bigint NOT NULL DEFAULT 0;
COMMENT ON COLUMN trials.metrics_version IS 'raised by every transaction that stores reports';
COMMENT ON COLUMN trials.summary_version IS 'the metrics_version that summary_metrics tells of';
CREATE INDEX trials_stale_summary ON trials (id) WHERE summary_version <> metrics_version;

-- Values of up to 8 KB stay in their row uncompressed: compressing took a third of an INSERT.
ALTER TABLE metrics ALTER COLUMN metrics SET STORAGE MAIN;
DO $$
BEGIN
    FOR part IN 0..7 LOOP
        EXECUTE format('ALTER TABLE metrics_%s ALTER COLUMN metrics SET STORAGE MAIN', part);
        EXECUTE format('ALTER TABLE metrics_%s SET (toast_tuple_target = 8160)', part);
    END LOOP;
END $$;
