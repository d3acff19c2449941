"""The parent process of one task, and what it shares with the agent; standard library only."""
