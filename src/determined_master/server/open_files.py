"""How many files and sockets this process may have open."""

from __future__ import annotations

import resource

ENOUGH = 65_536


def allow_many() -> int:
    """Raise the soft limit as far as the hard one lets, to 65,536 at most; the limit then.

    Each agent, request and follower of a log is a socket. The soft limit is 1,024 nearly
    everywhere, for the sake of programs that use `select`: a cluster of 1,000 agents is above it.
    """
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = ENOUGH if hard == resource.RLIM_INFINITY else min(hard, ENOUGH)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
        return wanted
    return soft
