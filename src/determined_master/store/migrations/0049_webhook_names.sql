-- Webhooks of all workspaces may share a name, as in 0.38.1; those of one workspace may not.
DROP INDEX webhooks_name;
CREATE UNIQUE INDEX webhooks_name ON webhooks (workspace_id, name);
