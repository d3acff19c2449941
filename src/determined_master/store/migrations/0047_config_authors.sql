-- Who wrote what acts on the work of others: policies of workspaces, and templates.

ALTER TABLE config_policies ADD COLUMN is_admins boolean NOT NULL DEFAULT false;
COMMENT ON COLUMN config_policies.is_admins IS
    'whether an admin of the cluster set it; others set limits and harmless values only';
UPDATE config_policies p SET is_admins = true
 WHERE p.workspace_id IS NULL
    OR EXISTS (SELECT FROM users u WHERE u.id = p.changed_by AND u.admin)
    OR EXISTS (SELECT FROM role_assignments r
                WHERE r.role_id = 1 AND r.workspace_id IS NULL
                  AND (r.user_id = p.changed_by
                       OR r.group_id IN (SELECT m.group_id FROM user_group_members m
                                          WHERE m.user_id = p.changed_by)));

ALTER TABLE templates
    ADD COLUMN owner_id   int REFERENCES users (id),
    ADD COLUMN changed_by int REFERENCES users (id),
    ADD COLUMN changed_at timestamptz,
    ADD COLUMN is_admins  boolean NOT NULL DEFAULT false;
COMMENT ON COLUMN templates.owner_id IS 'null: made before owners were recorded';
COMMENT ON COLUMN templates.is_admins IS 'whether an admin of the cluster wrote its content';

ALTER TABLE experiments ADD COLUMN config_changes text[] NOT NULL DEFAULT '{}';
COMMENT ON COLUMN experiments.config_changes IS
    'keys of the configuration that others have set, each with the policy or template';
