-- Views and boards of the web UI, and the states behind its short links.
CREATE TABLE ui_pages (
    id         int PRIMARY KEY GENERATED ALWAYS AS IDENTITY,
    kind       text NOT NULL CHECK (kind IN ('view', 'board')),
    project_id int NOT NULL REFERENCES projects (id) ON DELETE CASCADE,
    owner_id   int NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    scope      text NOT NULL CHECK (scope IN ('private', 'project', 'workspace')),
    name       text NOT NULL,
    is_default boolean NOT NULL DEFAULT false,
    text       text NOT NULL DEFAULT '',
    body       text NOT NULL,
    version    int NOT NULL DEFAULT 1,
    created_at timestamptz NOT NULL,
    updated_at timestamptz NOT NULL
);
COMMENT ON TABLE ui_pages IS 'views and boards of projects';
COMMENT ON COLUMN ui_pages.text IS 'a board''s Markdown';
COMMENT ON COLUMN ui_pages.body IS 'JSON, which only the web UI reads: a view''s state, a board''s panels';
COMMENT ON COLUMN ui_pages.version IS 'raised by each change';
CREATE INDEX ui_pages_project ON ui_pages (project_id, kind, id);
CREATE INDEX ui_pages_owner ON ui_pages (owner_id, project_id, kind);

CREATE TABLE ui_links (
    id         text PRIMARY KEY,
    owner_id   int NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    digest     bytea NOT NULL,
    state      text NOT NULL,
    created_at timestamptz NOT NULL,
    UNIQUE (owner_id, digest)
);
COMMENT ON COLUMN ui_links.digest IS 'SHA-256 of the state';
COMMENT ON COLUMN ui_links.created_at IS 'when it was last asked for; it expires a year later';
CREATE INDEX ui_links_owner ON ui_links (owner_id, created_at);
