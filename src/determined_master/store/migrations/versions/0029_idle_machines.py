"""Since when machines are idle: `0029_idle_machines.sql`."""

revision = "0029"
down_revision = "0028"
