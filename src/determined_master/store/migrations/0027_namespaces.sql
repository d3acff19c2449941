-- Which Kubernetes namespace the tasks of a workspace run in, by resource manager; a workspace
-- without a row uses the default namespace of that manager.

CREATE TABLE namespace_bindings (
    workspace_id int NOT NULL REFERENCES workspaces ON DELETE CASCADE,
    manager text NOT NULL,
    namespace text NOT NULL,
    PRIMARY KEY (workspace_id, manager)
);

-- Namespaces that the master has made, or is about to make. Those whose workspace is gone are
-- deleted from their cluster, and then from here.
CREATE TABLE made_namespaces (
    manager text NOT NULL,
    namespace text NOT NULL,
    workspace_id int REFERENCES workspaces ON DELETE SET NULL,
    PRIMARY KEY (manager, namespace)
);
CREATE INDEX made_namespaces_workspace ON made_namespaces (workspace_id);
