"""Programs that users run without an experiment: `0016_generic_tasks.sql`."""

revision = "0016"
down_revision = "0015"
