-- Numbers of the changes of projects, models and model versions, and news of them for streams.
ALTER TABLE projects ADD COLUMN seq bigint NOT NULL DEFAULT 0;
ALTER TABLE models ADD COLUMN seq bigint NOT NULL DEFAULT 0;
ALTER TABLE model_versions ADD COLUMN seq bigint NOT NULL DEFAULT 0;
CREATE SEQUENCE project_updates;
CREATE SEQUENCE model_updates;
CREATE SEQUENCE modelversion_updates;

CREATE FUNCTION number_update() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    NEW.seq = nextval(TG_ARGV[0]);
    RETURN NEW;
END $$;

CREATE FUNCTION publish_update() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM pg_notify('entity_updates', TG_ARGV[0] || ' ' || coalesce(NEW.id, OLD.id));
    RETURN NULL;
END $$;

-- The versions of a model that moves to another workspace move with it.
CREATE FUNCTION move_versions() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    UPDATE model_versions SET seq = 0 WHERE model_id = NEW.id;
    RETURN NULL;
END $$;

CREATE TRIGGER number_update BEFORE INSERT OR UPDATE ON projects
    FOR EACH ROW EXECUTE FUNCTION number_update('project_updates');
CREATE TRIGGER number_update BEFORE INSERT OR UPDATE ON models
    FOR EACH ROW EXECUTE FUNCTION number_update('model_updates');
CREATE TRIGGER number_update BEFORE INSERT OR UPDATE ON model_versions
    FOR EACH ROW EXECUTE FUNCTION number_update('modelversion_updates');
CREATE TRIGGER publish_update AFTER INSERT OR UPDATE OR DELETE ON projects
    FOR EACH ROW EXECUTE FUNCTION publish_update('project');
CREATE TRIGGER publish_update AFTER INSERT OR UPDATE OR DELETE ON models
    FOR EACH ROW EXECUTE FUNCTION publish_update('model');
CREATE TRIGGER publish_update AFTER INSERT OR UPDATE OR DELETE ON model_versions
    FOR EACH ROW EXECUTE FUNCTION publish_update('modelversion');
CREATE TRIGGER move_versions AFTER UPDATE OF workspace_id ON models
    FOR EACH ROW WHEN (OLD.workspace_id <> NEW.workspace_id) EXECUTE FUNCTION move_versions();
