"""Reports a failed event to its poster and to the log."""

from __future__ import annotations

import logging

from determined_master.domain.errors import DetError
from determined_master.engine.applying.queue import Post
from determined_master.engine.errors import InternalError
from determined_master.engine.kind import tag_of
from determined_master.store.constraint_errors import refusal_of, shortage_of

_log = logging.getLogger(__name__)


def as_refusal(error: Exception, post: Post) -> DetError:
    """The caller's error: a mistake of the caller unchanged, a defect of ours without details.

    All errors except refusals by the domain are logged.
    """
    if isinstance(error, DetError):
        return error
    event = tag_of(post.event)
    about = {"kind": post.kind.name, "id": post.id, "event": event, "cause": post.cause}
    # Nobody sent a timer, so a refused timer event is a defect of ours.
    refusal = refusal_of(error) if post.timer is None else None
    if refusal is not None:
        _log.warning("the database refused an event", exc_info=error, extra=about)
    else:
        _log.error("an event failed", exc_info=error, extra=about)
        refusal = shortage_of(error) or InternalError(
            f"the event {event} failed on {post.kind.name} {post.id}; the master's log says why"
        )
    refusal.__cause__ = error
    return refusal
