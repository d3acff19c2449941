"""Groups of users, and who has which role where: `0022_roles.sql`."""

revision = "0022"
down_revision = "0021"
