"""What the machines of trials were doing: `0011_system_metrics.sql`."""

revision = "0011"
down_revision = "0010"
