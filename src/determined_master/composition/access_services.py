"""The services of users, and of the machines of the cluster."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from determined_master.composition.machine_providers import machine_pools
from determined_master.services.access.access_tokens import AccessTokens, Lives
from determined_master.services.access.auth import Auth
from determined_master.services.access.devices import Devices
from determined_master.services.access.groups import Groups
from determined_master.services.access.guard import Guard
from determined_master.services.access.roles import Roles
from determined_master.services.access.users import Users
from determined_master.services.cluster.agent_history import AgentHistories
from determined_master.services.cluster.agent_switches import AgentSwitches
from determined_master.services.cluster.agents import Agents
from determined_master.services.cluster.join_tokens import JoinTokens
from determined_master.services.cluster.machine_starts import MachineStarts
from determined_master.services.cluster.master import Master
from determined_master.services.cluster.messages import ClusterMessages
from determined_master.services.cluster.usage import Usage
from determined_master.services.cluster.user_storage import GIB, UserStorage
from determined_master.services.cluster.web_ui import WebUi
from determined_master.services.containers.agent_packages import AgentPackages
from determined_master.services.containers.agent_wheel import AgentWheel
from determined_master.services.containers.harness import Harness
from determined_master.services.history.audit import AuditLog
from determined_master.services.history.events import Events

if TYPE_CHECKING:
    from determined_master.composition.backends import MasterBackends
    from determined_master.composition.core_services import CoreServices
    from determined_master.services.access.passwords import Passwords


class AccessServices:
    """Users and groups, their tokens and permissions."""

    def __init__(self, base: CoreServices, passwords: Passwords) -> None:
        db, security = base.db, base.settings.security
        lives = Lives(security.token.default_lifespan_days, security.token.max_lifespan_days)
        self.identities = base.identities
        self.auth = Auth(db, passwords, base.identities, Devices(base.cluster.secret))
        self.users = Users(db, passwords, base.identities)
        self.groups = Groups(db, base.identities)
        self.tokens = AccessTokens(db, base.identities, lives)
        self.roles = Roles(db, base.identities, security.authz.creator_role_id)
        self.guard = Guard(db, has_roles=security.authz.has_roles)


class ClusterServices:
    """The master itself, its agents, and what happened in the cluster."""

    def __init__(self, base: CoreServices, backends: MasterBackends, guard: Guard) -> None:
        db, settings, runner = base.db, base.settings, backends.runner
        pools, logos = machine_pools(settings), settings.ui_customization.logo_paths
        self.master = Master(base.facts, db, settings.masked, base.engine.oldest_effect_age_s)
        self.messages = ClusterMessages(db)
        self.usage = Usage(db)
        storage = settings.user_storage
        in_bytes = (int(gib * GIB) for gib in (storage.warning_gib, storage.max_gib))
        self.user_storage = UserStorage(db, *in_bytes)
        self.events = Events(db)
        self.audit = AuditLog(db)
        self.agents = Agents(runner, base.live, guard)
        self.switches = AgentSwitches(base.engine, db, runner, base.live, base.trigger_planning)
        self.histories = AgentHistories(db, guard, runner.agents)
        self.join_tokens = JoinTokens(db, base.cluster.secret, pools)
        self.starts = MachineStarts(db, pools)
        self.wheel = AgentWheel()
        self.packages = AgentPackages(settings.wheelhouse)
        self.harness = Harness()
        self.web_ui = WebUi(
            settings.root,
            settings.service_address,
            None if logos is None else msgspec.structs.asdict(logos),
        )
