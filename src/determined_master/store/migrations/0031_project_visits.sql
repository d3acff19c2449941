-- When each user last opened a project.
CREATE TABLE project_visits (
    user_id    integer NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    project_id integer NOT NULL REFERENCES projects (id) ON DELETE CASCADE,
    visited_at timestamptz NOT NULL,
    PRIMARY KEY (user_id, project_id)
);
