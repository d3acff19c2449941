"""The server: API, scheduler, state machines, search; all state in PostgreSQL."""

from determined_wire.release import VERSION as __version__

__all__ = ["__version__"]
