"""The model registry, and which trials started from what: `0011_models.sql`."""

revision = "0011"
down_revision = "0010"
