-- The users whom one request of the audit log changed, which its path does not name.

ALTER TABLE user_acts ADD COLUMN details text NOT NULL DEFAULT '';
COMMENT ON COLUMN user_acts.details IS 'the first users that the body names, and their number';
