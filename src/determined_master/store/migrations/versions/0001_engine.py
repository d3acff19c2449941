"""The engine's tables, users and their sessions: `0001_engine.sql`."""

revision = "0001"
down_revision = None
