-- Many trials change in one statement when a search's validations are stored together. Their
-- runs follow by one statement too: row by row it was the dearest part of a validation.

DROP TRIGGER trial_changed ON trials;
DROP FUNCTION trial_changed();

-- Sessions of the master make joins other than by index unattractive; what a statement has
-- changed has no index.
CREATE FUNCTION trials_changed() RETURNS trigger LANGUAGE plpgsql
SET enable_seqscan = on SET enable_hashjoin = on AS $$
BEGIN
    UPDATE runs r
       SET state = n.state, ended_at = n.ended_at, started_at = n.started_at,
           searcher_metric = CASE
               WHEN n.best_metric IS NOT DISTINCT FROM o.best_metric THEN r.searcher_metric
               WHEN e.smaller_is_better THEN n.best_metric ELSE -n.best_metric END
      FROM trials_after n
      JOIN trials_before o ON o.id = n.id
      JOIN experiments e ON e.id = n.experiment_id
     WHERE r.id = n.id
       AND (o.state, o.ended_at, o.started_at, o.best_metric)
           IS DISTINCT FROM (n.state, n.ended_at, n.started_at, n.best_metric);
    RETURN NULL;
END $$;
CREATE TRIGGER trials_changed AFTER UPDATE ON trials
    REFERENCING OLD TABLE AS trials_before NEW TABLE AS trials_after
    FOR EACH STATEMENT EXECUTE FUNCTION trials_changed();

-- Room in each page keeps the update of a trial within its page, without touching its indexes.
ALTER TABLE trials SET (fillfactor = 70);

-- The time of the last report is in no index: one would keep every report from staying in its page.
DROP INDEX trials_running;
CREATE INDEX trials_running ON trials (id) WHERE state = 'RUNNING';
