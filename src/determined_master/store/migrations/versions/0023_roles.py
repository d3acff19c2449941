"""Groups of users, and who has which role where: `0023_roles.sql`."""

revision = "0023"
down_revision = "0022"
