"""What the machines of trials were doing: `0014_system_metrics.sql`."""

revision = "0014"
down_revision = "0013"
