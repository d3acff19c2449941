"""The agent: the daemon on each machine that offers slots and runs containers."""
