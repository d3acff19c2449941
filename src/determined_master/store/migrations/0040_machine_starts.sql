-- What the start scripts of machines on demand report.

ALTER TABLE machine_stays
    ADD COLUMN start_step text,
    ADD COLUMN start_detail text NOT NULL DEFAULT '',
    ADD COLUMN start_failed boolean NOT NULL DEFAULT false;
COMMENT ON COLUMN machine_stays.start_step IS 'the last step; null before the first report';
COMMENT ON COLUMN machine_stays.start_detail IS 'the machine''s own words about a failure';
