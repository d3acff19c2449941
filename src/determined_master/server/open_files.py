"""The limit on open files and sockets of this process."""

from __future__ import annotations

import resource

ENOUGH = 65_536


def raise_limit() -> int:
    """Raise the soft limit up to the hard one, to 65,536 at most; return the limit.

    Each agent, request and follower of a log is a socket. The soft limit is usually 1,024, for
    programs that use `select`; a cluster of 1,000 agents exceeds it.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    target = ENOUGH if hard == resource.RLIM_INFINITY else min(hard, ENOUGH)
    if soft != resource.RLIM_INFINITY and soft < target:
        resource.setrlimit(resource.RLIMIT_NOFILE, (target, hard))
        return target
    return soft
