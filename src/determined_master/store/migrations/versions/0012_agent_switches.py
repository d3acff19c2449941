"""What admins have switched off on agents: `0012_agent_switches.sql`."""

revision = "0012"
down_revision = "0011"
