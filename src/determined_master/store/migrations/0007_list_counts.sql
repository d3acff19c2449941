-- Lists tell exact totals: what nobody filters is counted as it comes and goes.

ALTER TABLE run_numbers
    ADD COLUMN listed   int NOT NULL DEFAULT 0,
    ADD COLUMN archived int NOT NULL DEFAULT 0;
COMMENT ON TABLE run_numbers IS 'the runs of a project: the last number given, and how many there are';
COMMENT ON COLUMN run_numbers.listed IS 'all its runs';
COMMENT ON COLUMN run_numbers.archived IS 'those of them that are archived';
UPDATE run_numbers n SET listed = c.listed, archived = c.archived
  FROM (SELECT project_id, count(*) AS listed, count(*) FILTER (WHERE archived) AS archived
          FROM runs GROUP BY project_id) c
 WHERE c.project_id = n.project_id;

-- Filters compare texts byte by byte, so that lists look the same whatever the server's locale.
CREATE INDEX runs_state ON runs (project_id, state COLLATE "C", id) INCLUDE (archived);

-- A row of an experiment without its configuration is a sixth as wide, and lists read them all.
ALTER TABLE experiments SET (toast_tuple_target = 256);
UPDATE experiments SET config = config::text::jsonb;

DROP FUNCTION last_run_number(int, int);
CREATE FUNCTION count_runs(project int, more int, more_archived int) RETURNS int
LANGUAGE sql AS $$
    INSERT INTO run_numbers AS n (project_id, last, listed, archived)
    VALUES (project, greatest(more, 0), more, more_archived)
        ON CONFLICT (project_id) DO UPDATE
           SET last = n.last + greatest(more, 0), listed = n.listed + more,
               archived = n.archived + more_archived
    RETURNING last
$$;
COMMENT ON FUNCTION count_runs IS 'counts runs that come or go; the last number given to one';

CREATE OR REPLACE FUNCTION list_run(t trials) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    e record;
BEGIN
    -- Locked before the project's counter, as a move of the experiment does.
    SELECT project_id, archived, smaller_is_better INTO e
      FROM experiments WHERE id = t.experiment_id FOR NO KEY UPDATE;
    INSERT INTO runs (id, project_id, experiment_id, number, archived, state,
                      searcher_metric, started_at, ended_at)
    VALUES (t.id, e.project_id, t.experiment_id,
            count_runs(e.project_id, 1, e.archived::int), e.archived,
            t.state, CASE WHEN e.smaller_is_better THEN t.best_metric ELSE -t.best_metric END,
            t.started_at, t.ended_at);
    PERFORM index_leaves(t.id, e.project_id, 'hp.', 'HYPERPARAMETERS', t.hparams);
    PERFORM index_leaves(t.id, e.project_id, 'metadata.', 'RUN_METADATA', t.metadata);
    IF t.ended_at IS NOT NULL THEN
        PERFORM index_metrics(t.id, e.project_id, t.summary_metrics);
    END IF;
END $$;

CREATE OR REPLACE FUNCTION run_deleted() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    DELETE FROM run_values WHERE run_id = OLD.id;
    PERFORM count_runs(OLD.project_id, -1, -OLD.archived::int);
    RETURN NULL;
END $$;

CREATE OR REPLACE FUNCTION experiment_archived() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    changed int;
BEGIN
    UPDATE runs SET archived = NEW.archived
     WHERE experiment_id = NEW.id AND archived <> NEW.archived;
    GET DIAGNOSTICS changed = ROW_COUNT;
    IF changed > 0 THEN
        PERFORM count_runs(NEW.project_id, 0, CASE WHEN NEW.archived THEN changed ELSE -changed END);
    END IF;
    RETURN NULL;
END $$;

CREATE OR REPLACE FUNCTION experiment_moved() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    moved int;
    hidden int;
    before int;
BEGIN
    SELECT count(*), count(*) FILTER (WHERE archived) INTO moved, hidden
      FROM runs WHERE experiment_id = NEW.id;
    IF moved = 0 THEN
        RETURN NULL;
    END IF;
    -- Two moves may go opposite ways: both lock the two counters in one order.
    PERFORM FROM run_numbers WHERE project_id IN (OLD.project_id, NEW.project_id)
      ORDER BY project_id FOR NO KEY UPDATE;
    PERFORM count_runs(OLD.project_id, -moved, -hidden);
    before := count_runs(NEW.project_id, moved, hidden) - moved;
    INSERT INTO run_columns (project_id, name, location, type)
    SELECT DISTINCT ON (c.name) NEW.project_id, c.name, c.location, c.type
      FROM runs r JOIN run_values v ON v.run_id = r.id JOIN run_columns c ON c.id = v.column_id
     WHERE r.experiment_id = NEW.id
     ORDER BY c.name
        ON CONFLICT DO NOTHING;
    UPDATE run_values v SET column_id = new_column.id
      FROM runs r, run_columns old_column, run_columns new_column
     WHERE r.experiment_id = NEW.id AND v.run_id = r.id AND old_column.id = v.column_id
       AND new_column.project_id = NEW.project_id AND new_column.name = old_column.name;
    UPDATE runs r SET project_id = NEW.project_id, number = before + n.nth
      FROM (SELECT id, row_number() OVER (ORDER BY id) AS nth
              FROM runs WHERE experiment_id = NEW.id) n
     WHERE r.id = n.id;
    RETURN NULL;
END $$;

-- A name of a column is a key of an index: a longer one would cost the run its end.
CREATE OR REPLACE FUNCTION index_values(
    run int, project int, names text[], leaves jsonb[], places text[]
) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    stored int;
    wanted int := (SELECT count(*) FROM unnest(names) name WHERE octet_length(name) <= 2000);
BEGIN
    FOR attempt IN 1..2 LOOP
        INSERT INTO run_values AS v (run_id, column_id, number, word)
        SELECT run, c.id, n.number, CASE WHEN n.number IS NULL AND l.leaf <> '"NaN"' THEN left(l.leaf #>> '{}', 500) END
          FROM unnest(names, leaves) AS l (name, leaf)
          JOIN run_columns c ON c.project_id = project AND c.name = l.name
         CROSS JOIN LATERAL leaf_number(l.leaf) AS n (number)
            ON CONFLICT (run_id, column_id)
            DO UPDATE SET number = excluded.number, word = excluded.word;
        GET DIAGNOSTICS stored = ROW_COUNT;
        EXIT WHEN attempt = 2 OR stored = wanted;
        -- A column that no run of the project has had before: it is made, in the order of names.
        INSERT INTO run_columns (project_id, name, location, type)
        SELECT project, l.name, l.place, leaf_type(l.leaf)
          FROM unnest(names, leaves, places) AS l (name, leaf, place)
         WHERE octet_length(l.name) <= 2000
         ORDER BY l.name
            ON CONFLICT DO NOTHING;
    END LOOP;
END $$;
