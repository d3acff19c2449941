-- Where the job of a generic task was moved to: its next run is there too.

ALTER TABLE generic_tasks ADD COLUMN queue_position numeric;
COMMENT ON COLUMN generic_tasks.queue_position IS
    'of its job in its pool, in microseconds since the epoch; NULL for the time of its submission';
