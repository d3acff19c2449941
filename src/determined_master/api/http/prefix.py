"""The path below which a reverse proxy serves the master."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from determined_master.api.http.exchange import Http

HEADER = "x-forwarded-prefix"
MAX_CHARACTERS = 200
_PREFIX = re.compile(r"(/(?!\.{1,2}(/|$))[A-Za-z0-9._~-]+)+")


def path_prefix(http: Http) -> str:
    """The prefix that a proxy takes off each path, such as `/ml/det`; empty for none.

    A value that is no plain path is ignored: the prefix goes into addresses of the page and of
    redirects, which must stay on this host.
    """
    value = http.header(HEADER).rstrip("/")
    return value if len(value) <= MAX_CHARACTERS and _PREFIX.fullmatch(value) else ""
