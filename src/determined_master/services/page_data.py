"""The services whose data comes with the page of the web UI."""

from __future__ import annotations

from dataclasses import dataclass

from determined_master.services.access.guard import Guard
from determined_master.services.access.roles import Roles
from determined_master.services.access.users import Users
from determined_master.services.cluster.master import Master
from determined_master.services.cluster.messages import ClusterMessages
from determined_master.services.workspaces.projects import Projects
from determined_master.services.workspaces.service import Workspaces


@dataclass(frozen=True)
class PageData:
    """What the page shows on every address, and the project of its own address."""

    master: Master
    messages: ClusterMessages
    users: Users
    roles: Roles
    workspaces: Workspaces
    projects: Projects
    guard: Guard
