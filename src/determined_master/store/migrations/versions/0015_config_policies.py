"""What admins decide over the heads of users: `0015_config_policies.sql`."""

revision = "0015"
down_revision = "0014"
