-- What access tokens are for, in the words of who made them.

ALTER TABLE user_sessions ADD COLUMN description text NOT NULL DEFAULT '';
CREATE INDEX user_sessions_access ON user_sessions (user_id) WHERE kind = 'access';
