"""What access tokens are for: `0024_access_tokens.sql`."""

revision = "0024"
down_revision = "0023"
