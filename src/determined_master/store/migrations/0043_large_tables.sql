-- Statements that read whole tables of tasks, checkpoints and allocations: each took a second in a
-- cluster with a million trials.

CREATE INDEX tasks_job ON tasks (job_id) WHERE experiment_id IS NULL;
COMMENT ON INDEX tasks_job IS 'jobs of queues that are no experiments';

DROP INDEX tasks_interactive;
CREATE INDEX tasks_interactive ON tasks (type, (coalesce(ended_at, 'infinity'::timestamptz)))
    WHERE trial_id IS NULL AND experiment_id IS NULL;
COMMENT ON INDEX tasks_interactive IS 'lists of tasks that run, or ended after an instant';

-- Reports of a day or month: of all that has run, a part.
CREATE INDEX allocations_until ON allocations ((coalesce(ended_at, 'infinity'::timestamptz)));
CREATE INDEX past_allocations_until
    ON past_allocations ((coalesce(ended_at, 'infinity'::timestamptz)));

-- For foreign keys: a task, a session and a model definition are deleted with an experiment.
CREATE INDEX checkpoints_task ON checkpoints (task_id);
CREATE INDEX allocations_session ON allocations (session_id) WHERE session_id IS NOT NULL;
CREATE INDEX experiments_definition ON experiments (model_definition)
    WHERE model_definition IS NOT NULL;
