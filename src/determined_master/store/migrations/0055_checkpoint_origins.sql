-- What a checkpoint that outlives its experiment says of its training: a registered version keeps
-- its metrics, hyperparameters, names and the hash of its code.

CREATE TABLE checkpoint_origins (
    checkpoint uuid PRIMARY KEY REFERENCES checkpoints (uuid) ON DELETE CASCADE,
    origin     jsonb NOT NULL
);
