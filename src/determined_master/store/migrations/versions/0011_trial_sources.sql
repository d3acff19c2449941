CREATE TABLE trial_sources (
    trial_id        int NOT NULL REFERENCES trials (id) ON DELETE CASCADE,
    checkpoint_uuid uuid NOT NULL REFERENCES checkpoints (uuid) ON DELETE CASCADE,
    type            text NOT NULL,
    model_id        int,
    model_version   int,
    PRIMARY KEY (trial_id, checkpoint_uuid)
);
COMMENT ON TABLE trial_sources IS 'checkpoints that trials evaluate or start from, as their code reports';
COMMENT ON COLUMN trial_sources.type IS 'INFERENCE or FINE_TUNING';
CREATE INDEX trial_sources_checkpoint ON trial_sources (checkpoint_uuid, trial_id);
