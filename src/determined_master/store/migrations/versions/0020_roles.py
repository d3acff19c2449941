"""Groups of users, and who has which role where: `0020_roles.sql`."""

revision = "0020"
down_revision = "0019"
