-- The checkpoint storages that each trial was given: its reports may refer to no others.
CREATE TABLE trial_storages (
    trial_id   integer NOT NULL REFERENCES trials (id) ON DELETE CASCADE,
    storage_id integer NOT NULL REFERENCES storage_backends (id),
    PRIMARY KEY (trial_id, storage_id)
);
INSERT INTO trial_storages (trial_id, storage_id)
SELECT DISTINCT trial_id, storage_id FROM checkpoints
 WHERE trial_id IS NOT NULL AND storage_id IS NOT NULL;
