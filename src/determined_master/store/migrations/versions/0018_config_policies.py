"""What admins decide over the heads of users: `0018_config_policies.sql`."""

revision = "0018"
down_revision = "0017"
