"""The model registry, and which trials started from what: `0010_models.sql`."""

revision = "0010"
down_revision = "0009"
