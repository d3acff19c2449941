"""Which checkpoints trials work from, as they say themselves: `0011_trial_sources.sql`."""

revision = "0011"
down_revision = "0010"
