"""What admins have switched off on agents: `0010_agent_switches.sql`."""

revision = "0010"
down_revision = "0009"
