"""The model registry, and which trials started from what: `0008_models.sql`."""

revision = "0008"
down_revision = "0007"
