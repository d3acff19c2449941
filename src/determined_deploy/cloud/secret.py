"""The passwords and keys of a cluster: the members of its one secret, which is JSON."""

from __future__ import annotations

import secrets
from typing import Dict, Optional

from determined_deploy.cloud.options import ClusterOptions

DATABASE, INITIAL_USER, TLS_CERT, TLS_KEY = "database", "initial_user", "tls_cert", "tls_key"


def changed(
    stored: Dict[str, str],
    options: ClusterOptions,
    database: Optional[str],
    initial_user: Optional[str],
) -> Dict[str, str]:
    """The members after `up`: given values win over stored ones, and the rest is random."""
    members = {
        DATABASE: database or stored.get(DATABASE) or secrets.token_hex(16),
        INITIAL_USER: initial_user or stored.get(INITIAL_USER) or f"A1{secrets.token_urlsafe(12)}",
    }
    if options.tls_cert:
        members.update({TLS_CERT: options.tls_cert, TLS_KEY: options.tls_key})
    return members
