-- What admins have switched off on agents; an agent without a row takes work on all of its slots.
CREATE TABLE agent_switches (
    agent_id       text PRIMARY KEY,
    is_enabled     boolean NOT NULL,
    is_draining    boolean NOT NULL,
    disabled_slots int[] NOT NULL,
    draining_slots int[] NOT NULL,
    changed_by     int NOT NULL REFERENCES users (id),
    changed_at     timestamptz NOT NULL DEFAULT now()
);
COMMENT ON COLUMN agent_switches.is_draining IS 'what runs there goes on, nothing new starts';
