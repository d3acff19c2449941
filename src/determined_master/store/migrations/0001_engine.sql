-- The engine's own tables. Keys compare by bytes, so that the order of locks is the same for
-- the master and for every database, whatever its locale.

CREATE TABLE leader (
    only_one boolean PRIMARY KEY DEFAULT true CHECK (only_one),
    epoch    bigint  NOT NULL
);
INSERT INTO leader (epoch) VALUES (0);

-- Room in each page keeps the update of a state within its page, without touching the index.
CREATE TABLE aggregates (
    kind    text   COLLATE "C" NOT NULL,
    id      text   COLLATE "C" NOT NULL,
    version bigint NOT NULL,
    born    date   NOT NULL,
    state   text   NOT NULL,
    PRIMARY KEY (kind, id)
) WITH (fillfactor = 60, autovacuum_vacuum_scale_factor = 0.05);

-- A partition holds the lines of the aggregates that were born in its month, so that a cause
-- is unique for its aggregate for ever: docs/decisions/journal-partitions.md.
CREATE TABLE journal (
    born    date        NOT NULL,
    kind    text        COLLATE "C" NOT NULL,
    id      text        COLLATE "C" NOT NULL,
    version bigint      NOT NULL,
    cause   text        COLLATE "C" NOT NULL,
    event   text        NOT NULL,
    effects text,
    at      timestamptz NOT NULL,
    PRIMARY KEY (kind, id, version, born),
    UNIQUE (kind, id, cause, born)
) PARTITION BY RANGE (born);

CREATE TABLE outbox (
    kind          text        COLLATE "C" NOT NULL,
    id            text        COLLATE "C" NOT NULL,
    version       bigint      NOT NULL,
    n             integer     NOT NULL,
    effect        text        NOT NULL,
    ordered_at    timestamptz NOT NULL,
    due_at        timestamptz,
    attempts      integer     NOT NULL DEFAULT 0,
    claimed_epoch bigint      NOT NULL,
    last_error    text,
    PRIMARY KEY (kind, id, version, n)
) WITH (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 1000);

CREATE TABLE timers (
    kind    text        COLLATE "C" NOT NULL,
    id      text        COLLATE "C" NOT NULL,
    name    text        COLLATE "C" NOT NULL,
    version bigint      NOT NULL,
    due_at  timestamptz NOT NULL,
    event   text        NOT NULL,
    PRIMARY KEY (kind, id, name)
) WITH (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 1000);
CREATE INDEX timers_due ON timers (due_at);

CREATE TABLE inbox (
    seq       bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    kind      text        NOT NULL,
    id        text        NOT NULL,
    cause     text        NOT NULL,
    event     text        NOT NULL,
    closes    text,
    posted_at timestamptz NOT NULL,
    done_at   timestamptz,
    outcome   text
);
CREATE INDEX inbox_open ON inbox (seq) WHERE done_at IS NULL;
CREATE INDEX inbox_done ON inbox (done_at) WHERE done_at IS NOT NULL;

-- Who may come in.

CREATE TABLE users (
    id            serial PRIMARY KEY,
    username      text        NOT NULL,
    display_name  text        NOT NULL DEFAULT '',
    admin         boolean     NOT NULL DEFAULT false,
    active        boolean     NOT NULL DEFAULT true,
    remote        boolean     NOT NULL DEFAULT false,
    password_hash text,
    modified_at   timestamptz NOT NULL,
    last_auth_at  timestamptz,
    agent_uid     integer,
    agent_gid     integer,
    agent_user    text,
    agent_group   text
);
CREATE UNIQUE INDEX users_username ON users (lower(username));

CREATE TABLE user_sessions (
    id         serial PRIMARY KEY,
    user_id    integer     NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    token_hash bytea       NOT NULL UNIQUE,
    kind       text        NOT NULL CHECK (kind IN ('login', 'access', 'task')),
    created_at timestamptz NOT NULL,
    expires_at timestamptz NOT NULL,
    revoked_at timestamptz
);
CREATE INDEX user_sessions_user ON user_sessions (user_id);

CREATE TABLE user_settings (
    user_id      integer NOT NULL REFERENCES users (id) ON DELETE CASCADE,
    key          text    NOT NULL,
    storage_path text    NOT NULL DEFAULT '',
    value        jsonb,
    PRIMARY KEY (user_id, storage_path, key)
);
