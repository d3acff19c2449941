"""Commands, notebooks, shells and TensorBoards: `0020_interactive_tasks.sql`."""

revision = "0020"
down_revision = "0019"
