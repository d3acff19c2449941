"""The server: API, scheduler, state machines, search; all state in PostgreSQL."""
