"""Since when machines are idle: `0028_idle_machines.sql`."""

revision = "0028"
down_revision = "0027"
