-- Since when machines on demand are idle, so that a new lead counts on.

ALTER TABLE machine_stays ADD COLUMN idle_since timestamptz;
COMMENT ON COLUMN machine_stays.idle_since IS
    'since when nothing runs there; null when something does, or its agent was never seen';
