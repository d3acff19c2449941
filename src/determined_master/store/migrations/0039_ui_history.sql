-- What the web UI's pages of events and activity read.
CREATE INDEX journal_at ON journal USING brin (at) WITH (autosummarize = on);
CREATE INDEX experiments_of_user ON experiments (user_id, started_at);
DROP INDEX experiments_failed;
CREATE INDEX experiments_ended ON experiments (user_id, ended_at) WHERE ended_at IS NOT NULL;

-- What users changed in the cluster: users, roles, tokens, workspaces, agents and settings.
CREATE TABLE user_acts (
    id        bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY,
    at        timestamptz NOT NULL,
    user_id   int NOT NULL,
    username  text NOT NULL,
    operation text NOT NULL,
    method    text NOT NULL,
    path      text NOT NULL
);
COMMENT ON TABLE user_acts IS 'successful requests that change the cluster itself';
COMMENT ON COLUMN user_acts.username IS 'as it was then';
COMMENT ON COLUMN user_acts.operation IS 'the name of the route, as in the OpenAPI document';
COMMENT ON COLUMN user_acts.path IS 'with the ids of what was changed, without the body';
CREATE INDEX user_acts_user ON user_acts (user_id, id);
