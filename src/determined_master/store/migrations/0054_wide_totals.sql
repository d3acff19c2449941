-- As 0052, of tables that are written again within seconds. Apart, so that only metric reports
-- wait for the metrics while another master still leads.

ALTER TABLE trials ALTER COLUMN total_batches TYPE bigint;
ALTER TABLE checkpoints ALTER COLUMN steps TYPE bigint;
ALTER TABLE system_metrics ALTER COLUMN batch TYPE bigint;
ANALYZE trials, checkpoints, system_metrics;
