"""Detached trials: their names outside and their signs of life: `0007_detached.sql`."""

revision = "0007"
down_revision = "0005"
