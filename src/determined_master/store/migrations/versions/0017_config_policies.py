"""What admins decide over the heads of users: `0017_config_policies.sql`."""

revision = "0017"
down_revision = "0016"
