"""All services of the master, as routes reach them."""

from __future__ import annotations

from dataclasses import dataclass

from determined_master.services.auth import AuthService
from determined_master.services.master import MasterService
from determined_master.services.users import UserService


@dataclass(frozen=True)
class Services:
    """One attribute a resource; made once by `app.py`."""

    auth: AuthService
    users: UserService
    master: MasterService
