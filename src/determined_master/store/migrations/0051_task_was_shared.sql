-- Whether others could ever read a notebook's own token, which then opens it no longer alone.

ALTER TABLE interactive_tasks ADD COLUMN was_shared boolean NOT NULL DEFAULT false;
UPDATE interactive_tasks SET was_shared = true WHERE task_id IN (SELECT task_id FROM task_shares);
