"""Parts of large states in rows of their own: `0017_aggregate_parts.sql`."""

revision = "0017"
down_revision = "0016"
