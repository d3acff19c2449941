"""Settings of the master: flags, environment variables, master.yaml, defaults."""
