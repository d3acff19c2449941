"""Parts of large states in rows of their own: `0015_aggregate_parts.sql`."""

revision = "0015"
down_revision = "0014"
