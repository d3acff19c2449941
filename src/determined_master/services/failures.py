"""Errors for requests that failed unexpectedly."""

from __future__ import annotations

import logging

from determined_master import entropy
from determined_master.domain.errors import DetError, Internal, Unavailable
from determined_master.store.connection_errors import (
    DATABASE_AWAY,
    DATABASE_SILENT,
    words_of,
)
from determined_master.store.constraint_errors import refusal_of, shortage_of

log = logging.getLogger(__name__)

UNANSWERED = DATABASE_SILENT
"""The database did not answer: a check against it neither passed nor failed."""


def error_of(error: Exception, *, method: str, path: str) -> DetError:
    """Log an exception of a request and build the error for its client."""
    if isinstance(error, DATABASE_AWAY):
        log.warning("the database is away: %s", words_of(error), extra={"path": path})
        return Unavailable("the database does not answer: send the same request again")
    if isinstance(error, TimeoutError):  # of a connection or a wait: it may succeed later
        log.warning("a request took too long", extra={"path": path}, exc_info=error)
        return Unavailable("it took too long: send the same request again")
    shortage = shortage_of(error)
    if shortage is not None:
        log.error("%s", shortage, extra={"path": path})
        return shortage
    request_id = str(entropy.new_uuid())
    where = {"request_id": request_id, "method": method, "path": path}
    refusal = refusal_of(error)
    if refusal is not None:
        log.warning("the database refused a request", exc_info=error, extra=where)
        return refusal
    log.error("a request failed", exc_info=error, extra=where)
    return Internal(f"internal error: the master's log has more under request {request_id}")
