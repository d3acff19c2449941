"""Notes of backends that were told: `0028_told_notes.sql`."""

revision = "0028"
down_revision = "0027"
