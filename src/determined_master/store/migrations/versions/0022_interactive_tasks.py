"""Commands, notebooks, shells and TensorBoards: `0022_interactive_tasks.sql`."""

revision = "0022"
down_revision = "0021"
