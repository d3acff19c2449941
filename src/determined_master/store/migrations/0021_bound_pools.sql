-- A pool that was bound stays closed when its last workspace is deleted.

CREATE TABLE bound_pools (
    pool text COLLATE "C" PRIMARY KEY
);
COMMENT ON TABLE bound_pools IS
    'pools that were bound and not opened again: they serve the workspaces of their bindings only';
INSERT INTO bound_pools SELECT DISTINCT pool FROM pool_bindings;
