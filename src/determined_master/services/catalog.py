"""All services of the master, as routes reach them."""

from __future__ import annotations

from dataclasses import dataclass

from determined_master.services.auth import Auth
from determined_master.services.identities import Identities
from determined_master.services.master import Master
from determined_master.services.users import Users


@dataclass(frozen=True)
class Services:
    """One attribute a resource; made once by `app.py`."""

    auth: Auth
    users: Users
    master: Master
    identities: Identities
