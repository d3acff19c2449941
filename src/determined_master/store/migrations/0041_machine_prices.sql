-- Prices of machines on demand: usage reports multiply them by hours.

ALTER TABLE machine_stays
    ADD COLUMN instance_type  text NOT NULL DEFAULT '',
    ADD COLUMN price_per_hour double precision;
COMMENT ON COLUMN machine_stays.price_per_hour IS
    'usual US dollars at the launch; null if unknown';
CREATE INDEX machine_stays_pool ON machine_stays (pool, started_at);
