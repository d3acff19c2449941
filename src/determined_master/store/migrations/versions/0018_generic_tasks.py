"""Programs that users run without an experiment: `0018_generic_tasks.sql`."""

revision = "0018"
down_revision = "0017"
