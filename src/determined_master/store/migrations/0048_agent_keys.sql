-- Each agent has a key of its own. A join token is spent at the first join.

CREATE TABLE agent_keys (
    agent_id   text PRIMARY KEY,
    key_hash   bytea NOT NULL,
    created_at timestamptz NOT NULL
);
COMMENT ON COLUMN agent_keys.key_hash IS
    'SHA-256 of what the agent shows; of its join token for agents of releases without keys';

CREATE TABLE agent_join_tokens (
    token_hash bytea PRIMARY KEY,
    agent_id   text,
    created_at timestamptz NOT NULL,
    expires_at timestamptz NOT NULL
);
COMMENT ON COLUMN agent_join_tokens.token_hash IS 'SHA-256';
COMMENT ON COLUMN agent_join_tokens.agent_id IS 'the only agent that may use it; null for any new one';

-- Agents that have joined with the token of the whole cluster show it until they have a key. Nobody
-- else can use it any more.
INSERT INTO agent_keys (agent_id, key_hash, created_at)
SELECT DISTINCT s.agent_id, sha256(convert_to(c.join_token, 'UTF8')), now()
  FROM agent_stays s CROSS JOIN cluster c;

ALTER TABLE cluster ALTER COLUMN join_token SET DEFAULT '';
UPDATE cluster SET join_token = '';
COMMENT ON COLUMN cluster.join_token IS 'unused: tokens are in agent_join_tokens';
