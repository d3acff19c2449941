"""The server: API, scheduler, state machines, search; all state in PostgreSQL."""

__version__ = "0.39.0.dev0"
