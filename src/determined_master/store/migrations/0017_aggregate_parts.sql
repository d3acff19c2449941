-- What of an aggregate's state grows with its thing, as the containers of a gang do: a row a part.
-- The row of the aggregate is locked by whoever writes its parts.

CREATE TABLE aggregate_parts (
    kind text COLLATE "C" NOT NULL,
    id   text COLLATE "C" NOT NULL,
    n    int  NOT NULL,
    part text NOT NULL,
    PRIMARY KEY (kind, id, n)
) WITH (fillfactor = 60, autovacuum_vacuum_scale_factor = 0.05);
