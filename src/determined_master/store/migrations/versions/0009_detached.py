"""Detached trials: their names outside and their signs of life: `0009_detached.sql`."""

revision = "0009"
down_revision = "0008"
