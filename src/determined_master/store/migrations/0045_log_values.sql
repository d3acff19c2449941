-- The values that the lines of a task can be filtered by. Reading them from the lines took 0.5 s in
-- a task of 500,000.

CREATE TABLE log_values (
    task_id text NOT NULL,
    field   text NOT NULL,
    value   text NOT NULL
);
COMMENT ON TABLE log_values IS 'values of the columns of task_logs that have few; a value may be there twice';
COMMENT ON COLUMN log_values.value IS 'as text; a rank of -1 stands for lines without a rank';
-- Values have any length, an entry of an index has not.
CREATE INDEX log_values_task ON log_values (task_id, field, left(value, 200));

INSERT INTO log_values (task_id, field, value)
SELECT DISTINCT l.task_id, v.field, v.value
  FROM (SELECT DISTINCT task_id, allocation_id, agent_id, container_id, rank_id, stdtype, source
          FROM task_logs) l
 CROSS JOIN LATERAL (VALUES ('allocation_id', l.allocation_id), ('agent_id', l.agent_id),
                            ('container_id', l.container_id), ('stdtype', l.stdtype),
                            ('source', l.source), ('rank_id', coalesce(l.rank_id, -1)::text))
       v (field, value)
 WHERE v.value IS NOT NULL;
