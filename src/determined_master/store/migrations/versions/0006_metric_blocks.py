"""The lowest and highest of each 1,024 reports of a trial: `0006_metric_blocks.sql`."""

revision = "0006"
down_revision = "0005"
