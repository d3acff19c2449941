"""Programs that users run without an experiment: `0019_generic_tasks.sql`."""

revision = "0019"
down_revision = "0018"
