-- Ports in use, idle notebooks and collections of an experiment: of all tasks, those that are open.
CREATE INDEX tasks_open ON tasks (id) WHERE ended_at IS NULL;
COMMENT ON INDEX tasks_open IS 'tasks that run or wait: few of all';
