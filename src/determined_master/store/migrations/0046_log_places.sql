-- How far the log of a pod is copied. A master that starts read all lines of it again, to count
-- those that it had stored.

ALTER TABLE log_cursors ADD COLUMN place jsonb;
COMMENT ON COLUMN log_cursors.place IS 'ports.orders.LogPlace of the last line; null unless it is of a pod';
