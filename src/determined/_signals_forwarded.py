"""The names of the signals that every link of the entry chain hands on to the next."""

FORWARDED = ("SIGINT", "SIGTERM", "SIGHUP", "SIGUSR1", "SIGUSR2", "SIGWINCH")
