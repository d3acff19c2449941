-- Whom the owner of a notebook or a shell, or an admin, has let in.

CREATE TABLE task_shares (
    task_id   text NOT NULL REFERENCES tasks (id) ON DELETE CASCADE,
    user_id   int REFERENCES users (id) ON DELETE CASCADE,
    group_id  int REFERENCES user_groups (id) ON DELETE CASCADE,
    shared_by int REFERENCES users (id) ON DELETE SET NULL,
    shared_at timestamptz NOT NULL,
    CHECK (num_nonnulls(user_id, group_id) = 1)
);
CREATE UNIQUE INDEX task_shares_once ON task_shares
    (task_id, coalesce(user_id, 0), coalesce(group_id, 0));
CREATE INDEX task_shares_user ON task_shares (user_id) WHERE user_id IS NOT NULL;
CREATE INDEX task_shares_group ON task_shares (group_id) WHERE group_id IS NOT NULL;
