"""Which checkpoints trials work from, as they say themselves: `0010_trial_sources.sql`."""

revision = "0010"
down_revision = "0009"
