-- Trials that programs outside the cluster run.

ALTER TABLE trials ADD COLUMN external_id text;
COMMENT ON COLUMN trials.external_id IS 'the name that the program of a detached trial gave it';
COMMENT ON COLUMN trials.last_activity_at IS 'when the program of a detached trial was last heard of';
CREATE UNIQUE INDEX trials_external ON trials (experiment_id, external_id)
    WHERE external_id IS NOT NULL;
CREATE INDEX trials_running ON trials (last_activity_at) WHERE state = 'RUNNING';
