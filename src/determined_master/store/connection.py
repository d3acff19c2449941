"""The type of what SQL runs on."""

from typing import Any, TypeAlias

import asyncpg

Conn: TypeAlias = "asyncpg.Connection[Any] | asyncpg.pool.PoolConnectionProxy[Any]"
"""A connection of the pool; the caller owns its transaction."""
