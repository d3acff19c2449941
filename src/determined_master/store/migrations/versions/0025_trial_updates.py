"""Reports that touch no index of their trial: `0025_trial_updates.sql`."""

revision = "0025"
down_revision = "0024"
