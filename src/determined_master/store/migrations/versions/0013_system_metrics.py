"""What the machines of trials were doing: `0013_system_metrics.sql`."""

revision = "0013"
down_revision = "0012"
