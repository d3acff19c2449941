"""Templates, and the collections of checkpoints: `0004_templates.sql`."""

revision = "0004"
down_revision = "0003"
