-- What lists of runs filter, sort and count by. All of it follows from trials and experiments;
-- triggers keep it, so that no writer of those can forget to.

CREATE TABLE run_numbers (
    project_id int PRIMARY KEY,
    last       int NOT NULL
);
COMMENT ON TABLE run_numbers IS 'the last number given to a run of a project';

CREATE TABLE runs (
    id              int PRIMARY KEY REFERENCES trials (id) ON DELETE CASCADE,
    project_id      int NOT NULL,
    experiment_id   int NOT NULL,
    number          int NOT NULL,
    archived        boolean NOT NULL,
    state           text NOT NULL,
    searcher_metric double precision,
    started_at      timestamptz NOT NULL,
    ended_at        timestamptz,
    UNIQUE (project_id, number)
);
COMMENT ON TABLE runs IS 'one narrow row a trial';
COMMENT ON COLUMN runs.number IS 'of its project: the n of the local id KEY-n';
COMMENT ON COLUMN runs.searcher_metric IS 'the best value, with its own sign';
CREATE INDEX runs_page ON runs (project_id, id) INCLUDE (archived);
CREATE INDEX runs_archived ON runs (project_id, id) WHERE archived;
CREATE INDEX runs_experiment ON runs (experiment_id, id);
CREATE INDEX runs_lowest ON runs (project_id, searcher_metric, id) INCLUDE (archived);
CREATE INDEX runs_highest
    ON runs (project_id, searcher_metric DESC NULLS LAST, id DESC) INCLUDE (archived);

CREATE TABLE run_columns (
    id         int PRIMARY KEY GENERATED ALWAYS AS IDENTITY,
    project_id int NOT NULL,
    name       text NOT NULL,
    location   text NOT NULL,
    type       text NOT NULL,
    UNIQUE (project_id, name)
);
COMMENT ON TABLE run_columns IS
    'hyperparameters, metrics and metadata that runs of a project have had';

CREATE TABLE run_values (
    run_id    int NOT NULL,
    column_id int NOT NULL,
    number    double precision,
    word      text,
    PRIMARY KEY (run_id, column_id)
);
COMMENT ON TABLE run_values IS
    'leaves of hyperparameters and metadata; those of metrics once the run has ended';
COMMENT ON COLUMN run_values.number IS 'NULL also for what is not a number';
COMMENT ON COLUMN run_values.word IS 'the first 500 characters of what is no number; NULL for not-a-number, too';
CREATE INDEX run_values_column ON run_values (column_id, number, run_id) INCLUDE (word);

CREATE INDEX experiments_page ON experiments (project_id, id) INCLUDE (archived);

CREATE FUNCTION leaf_number(leaf jsonb) RETURNS double precision
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT CASE jsonb_typeof(leaf)
        WHEN 'number' THEN leaf::double precision
        WHEN 'string' THEN CASE leaf #>> '{}'
            WHEN 'Infinity' THEN 'Infinity'::double precision
            WHEN '-Infinity' THEN '-Infinity'::double precision END
    END
$$;

CREATE FUNCTION leaf_type(leaf jsonb) RETURNS text
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
    SELECT CASE jsonb_typeof(leaf)
        WHEN 'number' THEN 'NUMBER'
        WHEN 'array' THEN 'ARRAY'
        WHEN 'string' THEN CASE
            WHEN leaf #>> '{}' IN ('NaN', 'Infinity', '-Infinity') THEN 'NUMBER'
            WHEN leaf #>> '{}' ~ '^\d{4}-\d{2}-\d{2}[T ]\d{2}:\d{2}' THEN 'DATE'
            ELSE 'TEXT' END
        ELSE 'TEXT'
    END
$$;

CREATE FUNCTION leaves_of(value jsonb) RETURNS TABLE (name text, leaf jsonb)
LANGUAGE sql IMMUTABLE AS $$
    WITH RECURSIVE nested (name, leaf) AS (
        SELECT e.key, e.value
          FROM jsonb_each(CASE jsonb_typeof($1) WHEN 'object' THEN $1 ELSE '{}' END) e
         UNION ALL
        SELECT n.name || '.' || e.key, e.value
          FROM nested n,
               jsonb_each(CASE jsonb_typeof(n.leaf) WHEN 'object' THEN n.leaf ELSE '{}' END) e
    )
    SELECT name, leaf FROM nested WHERE jsonb_typeof(leaf) NOT IN ('object', 'null')
$$;

CREATE FUNCTION metric_leaves_of(summary jsonb)
RETURNS TABLE (name text, leaf jsonb, location text)
LANGUAGE sql IMMUTABLE AS $$
    SELECT CASE g.key WHEN 'avg_metrics' THEN 'training'
                      WHEN 'validation_metrics' THEN 'validation' ELSE g.key END
               || '.' || m.key || '.' || f.key,
           f.value,
           CASE g.key WHEN 'avg_metrics' THEN 'TRAINING'
                      WHEN 'validation_metrics' THEN 'VALIDATIONS' ELSE 'CUSTOM_METRIC' END
      FROM jsonb_each(summary) g, jsonb_each(g.value) m, jsonb_each(m.value) f
     WHERE f.key IN ('last', 'min', 'max', 'mean')
       AND jsonb_typeof(f.value) NOT IN ('object', 'null')
$$;

CREATE FUNCTION index_values(
    run int, project int, names text[], leaves jsonb[], places text[]
) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    stored int;
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
        EXIT WHEN attempt = 2 OR stored = cardinality(names);
        -- A column that no run of the project has had before: it is made, in the order of names.
        INSERT INTO run_columns (project_id, name, location, type)
        SELECT project, l.name, l.place, leaf_type(l.leaf)
          FROM unnest(names, leaves, places) AS l (name, leaf, place)
         ORDER BY l.name
            ON CONFLICT DO NOTHING;
    END LOOP;
END $$;

CREATE FUNCTION index_leaves(
    run int, project int, prefix text, place text, value jsonb
) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    l record;
BEGIN
    IF jsonb_typeof(value) IS DISTINCT FROM 'object' OR value = '{}' THEN
        RETURN;
    END IF;
    SELECT array_agg(prefix || d.name) AS names, array_agg(d.leaf) AS leaves,
           array_agg(place) AS places INTO l
      FROM (SELECT DISTINCT ON (name) name, leaf FROM leaves_of(value)) d;
    PERFORM index_values(run, project, l.names, l.leaves, l.places);
END $$;

CREATE FUNCTION index_metrics(run int, project int, summary jsonb) RETURNS void
LANGUAGE plpgsql AS $$
DECLARE
    l record;
BEGIN
    SELECT array_agg(m.name) AS names, array_agg(m.leaf) AS leaves,
           array_agg(m.location) AS places INTO l
      FROM (SELECT DISTINCT ON (name) * FROM metric_leaves_of(summary)) m;
    PERFORM index_values(run, project, l.names, l.leaves, l.places);
END $$;

CREATE FUNCTION last_run_number(project int, wanted int) RETURNS int LANGUAGE sql AS $$
    INSERT INTO run_numbers AS n VALUES (project, wanted)
        ON CONFLICT (project_id) DO UPDATE SET last = n.last + wanted
    RETURNING last
$$;
COMMENT ON FUNCTION last_run_number IS 'takes so many numbers; the last of them';

CREATE FUNCTION list_run(t trials) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    e record;
BEGIN
    -- Locked before the project's counter, as a move of the experiment does.
    SELECT project_id, archived, smaller_is_better INTO e
      FROM experiments WHERE id = t.experiment_id FOR NO KEY UPDATE;
    INSERT INTO runs (id, project_id, experiment_id, number, archived, state,
                      searcher_metric, started_at, ended_at)
    VALUES (t.id, e.project_id, t.experiment_id, last_run_number(e.project_id, 1), e.archived,
            t.state, CASE WHEN e.smaller_is_better THEN t.best_metric ELSE -t.best_metric END,
            t.started_at, t.ended_at);
    PERFORM index_leaves(t.id, e.project_id, 'hp.', 'HYPERPARAMETERS', t.hparams);
    PERFORM index_leaves(t.id, e.project_id, 'metadata.', 'RUN_METADATA', t.metadata);
    IF t.ended_at IS NOT NULL THEN
        PERFORM index_metrics(t.id, e.project_id, t.summary_metrics);
    END IF;
END $$;

CREATE FUNCTION forget_values(run int, locations text[]) RETURNS void LANGUAGE sql AS $$
    DELETE FROM run_values v USING run_columns c
     WHERE v.run_id = run AND c.id = v.column_id AND c.location = ANY (locations)
$$;

-- In place of a foreign key, which would cost a look-up for every value that is written.
CREATE FUNCTION run_deleted() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    DELETE FROM run_values WHERE run_id = OLD.id;
    RETURN NULL;
END $$;
CREATE TRIGGER run_deleted AFTER DELETE ON runs FOR EACH ROW EXECUTE FUNCTION run_deleted();

CREATE FUNCTION trial_inserted() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM list_run(NEW);
    RETURN NULL;
END $$;
CREATE TRIGGER trial_inserted AFTER INSERT ON trials
    FOR EACH ROW EXECUTE FUNCTION trial_inserted();

CREATE FUNCTION trial_changed() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    UPDATE runs r
       SET state = NEW.state, ended_at = NEW.ended_at, started_at = NEW.started_at,
           searcher_metric = CASE
               WHEN NEW.best_metric IS NOT DISTINCT FROM OLD.best_metric THEN r.searcher_metric
               WHEN (SELECT smaller_is_better FROM experiments WHERE id = NEW.experiment_id)
               THEN NEW.best_metric ELSE -NEW.best_metric END
     WHERE r.id = NEW.id;
    RETURN NULL;
END $$;
CREATE TRIGGER trial_changed
    AFTER UPDATE OF state, ended_at, started_at, best_metric ON trials FOR EACH ROW
    WHEN ((OLD.state, OLD.ended_at, OLD.started_at, OLD.best_metric)
          IS DISTINCT FROM (NEW.state, NEW.ended_at, NEW.started_at, NEW.best_metric))
    EXECUTE FUNCTION trial_changed();

-- The name puts it after trial_changed.
CREATE FUNCTION trial_settled() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    project int := (SELECT project_id FROM runs WHERE id = NEW.id);
BEGIN
    IF NEW.ended_at IS NOT NULL THEN
        PERFORM index_metrics(NEW.id, project, NEW.summary_metrics);
    ELSE
        PERFORM forget_values(NEW.id, '{TRAINING,VALIDATIONS,CUSTOM_METRIC}');
    END IF;
    RETURN NULL;
END $$;
CREATE TRIGGER trial_settled
    AFTER UPDATE OF ended_at, summary_metrics ON trials FOR EACH ROW
    WHEN ((OLD.ended_at IS NULL) <> (NEW.ended_at IS NULL)
          OR NEW.ended_at IS NOT NULL AND OLD.summary_metrics IS DISTINCT FROM NEW.summary_metrics)
    EXECUTE FUNCTION trial_settled();

CREATE FUNCTION trial_described() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    project int := (SELECT project_id FROM runs WHERE id = NEW.id);
BEGIN
    PERFORM forget_values(NEW.id, '{RUN_METADATA}');
    PERFORM index_leaves(NEW.id, project, 'metadata.', 'RUN_METADATA', NEW.metadata);
    RETURN NULL;
END $$;
CREATE TRIGGER trial_described AFTER UPDATE OF metadata ON trials FOR EACH ROW
    WHEN (OLD.metadata IS DISTINCT FROM NEW.metadata)
    EXECUTE FUNCTION trial_described();

CREATE FUNCTION experiment_archived() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    UPDATE runs SET archived = NEW.archived WHERE experiment_id = NEW.id;
    RETURN NULL;
END $$;
CREATE TRIGGER experiment_archived AFTER UPDATE OF archived ON experiments FOR EACH ROW
    WHEN (OLD.archived IS DISTINCT FROM NEW.archived)
    EXECUTE FUNCTION experiment_archived();

CREATE FUNCTION experiment_moved() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    moved int := (SELECT count(*) FROM runs WHERE experiment_id = NEW.id);
    before int;
BEGIN
    IF moved = 0 THEN
        RETURN NULL;
    END IF;
    before := last_run_number(NEW.project_id, moved) - moved;
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
CREATE TRIGGER experiment_moved AFTER UPDATE OF project_id ON experiments FOR EACH ROW
    WHEN (OLD.project_id IS DISTINCT FROM NEW.project_id)
    EXECUTE FUNCTION experiment_moved();

DO $$
DECLARE
    t trials;
BEGIN
    FOR t IN SELECT * FROM trials ORDER BY id LOOP
        PERFORM list_run(t);
    END LOOP;
END $$;
