-- News of what users change in experiments, and of runs that leave their project, for the live
-- channel. States, progress, metrics and checkpoints are published by the master itself: they
-- change too often for a notification, which serializes commits.

CREATE FUNCTION publish_left_run() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM pg_notify('entity_updates', 'run_left:' || OLD.project_id || ' ' || OLD.id);
    RETURN NULL;
END $$;

CREATE TRIGGER publish_update
    AFTER UPDATE OF name, description, labels, notes, archived, config, project_id, workspace_id
    ON experiments FOR EACH ROW
    WHEN ((OLD.name, OLD.description, OLD.labels, OLD.notes, OLD.archived, OLD.project_id,
           OLD.workspace_id)
          IS DISTINCT FROM
          (NEW.name, NEW.description, NEW.labels, NEW.notes, NEW.archived, NEW.project_id,
           NEW.workspace_id))
    EXECUTE FUNCTION publish_update('experiment');
CREATE TRIGGER publish_delete AFTER DELETE ON experiments
    FOR EACH ROW EXECUTE FUNCTION publish_update('experiment');
CREATE TRIGGER publish_update AFTER UPDATE OF metadata ON trials
    FOR EACH ROW WHEN (OLD.metadata IS DISTINCT FROM NEW.metadata)
    EXECUTE FUNCTION publish_update('trial');
CREATE TRIGGER publish_delete AFTER DELETE ON trials
    FOR EACH ROW EXECUTE FUNCTION publish_update('trial');
CREATE TRIGGER publish_archive AFTER UPDATE OF archived ON runs
    FOR EACH ROW WHEN (OLD.archived IS DISTINCT FROM NEW.archived)
    EXECUTE FUNCTION publish_update('trial');
CREATE TRIGGER publish_move AFTER UPDATE OF project_id ON runs
    FOR EACH ROW WHEN (OLD.project_id IS DISTINCT FROM NEW.project_id)
    EXECUTE FUNCTION publish_left_run();
CREATE TRIGGER publish_move_to AFTER UPDATE OF project_id ON runs
    FOR EACH ROW WHEN (OLD.project_id IS DISTINCT FROM NEW.project_id)
    EXECUTE FUNCTION publish_update('trial');
CREATE TRIGGER publish_delete AFTER DELETE ON runs
    FOR EACH ROW EXECUTE FUNCTION publish_left_run();
