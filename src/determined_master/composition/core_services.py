"""The parts that all other parts of a master use."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from determined_master import __version__, entropy
from determined_master.aggregates import KINDS
from determined_master.backends.webhooks.poster import HttpPoster
from determined_master.engine import Engine
from determined_master.pools.live import LiveAllocations
from determined_master.services.access.identities import Identities
from determined_master.services.access.task_tokens import TaskTokens
from determined_master.services.cluster.agents import AgentReports
from determined_master.services.cluster.master import MasterFacts
from determined_master.services.logs.policies import LogPolicyMatcher
from determined_master.services.logs.searches import CONNECTIONS, SLICE_S, LogSearches
from determined_master.services.logs.task_logs import TaskLogs
from determined_master.services.updates.changes import EntityChanges
from determined_master.services.updates.live.news import LiveNews
from determined_master.services.updates.streams import STREAMING, EntityStreams
from determined_master.services.webhooks.deliveries import Deliveries, signing_key
from determined_master.services.webhooks.log_triggers import LogTriggers
from determined_master.store.db import connect, open_database

if TYPE_CHECKING:
    from determined_master.settings.master import Settings
    from determined_master.store.cluster.bootstrap import Cluster
    from determined_master.store.db import Address, Database

TriggerPlanning = Callable[[str], None]
"""Triggers planning of a pool, by name."""


@dataclass(frozen=True)
class CoreServices:
    """The settings, the database, the engine, and the listeners of tasks."""

    settings: Settings
    cluster: Cluster
    db: Database
    trigger_planning: TriggerPlanning
    engine: Engine
    live: LiveAllocations
    identities: Identities
    policies: LogPolicyMatcher
    searches: LogSearches
    logs: TaskLogs
    deliveries: Deliveries
    log_triggers: LogTriggers
    changes: EntityChanges
    streams: EntityStreams
    news: LiveNews
    reports: AgentReports
    tokens: TaskTokens
    facts: MasterFacts


def build_core_services(
    settings: Settings,
    address: Address,
    db: Database,
    cluster: Cluster,
    trigger_planning: TriggerPlanning,
) -> CoreServices:
    """
    Args:
        address: for the engine's own connections.
        db: for all other users.
        trigger_planning: called only while the master runs.
    """
    engine = Engine(address, db, KINDS)
    live = LiveAllocations(trigger_planning)
    policies = LogPolicyMatcher(engine, db)
    searches = LogSearches(
        lambda: open_database(
            address, min_size=0, max_size=CONNECTIONS, statement_timeout_s=SLICE_S
        )
    )
    hooks = settings.webhooks
    deliveries = Deliveries(
        db,
        HttpPoster(hooks.networks()),
        hooks.signing_key or signing_key(cluster.secret),
        hooks.base_url,
        lambda: engine.epoch is not None,
    )
    log_triggers = LogTriggers(db, deliveries.wake)
    changes, news = EntityChanges(partial(connect, address)), LiveNews()
    logs = TaskLogs(db, [policies, log_triggers], searches, news.lines)
    return CoreServices(
        settings=settings,
        cluster=cluster,
        db=db,
        trigger_planning=trigger_planning,
        engine=engine,
        live=live,
        identities=Identities(db, news, has_roles=settings.security.authz.has_roles),
        policies=policies,
        searches=searches,
        logs=logs,
        deliveries=deliveries,
        log_triggers=log_triggers,
        changes=changes,
        news=news,
        streams=EntityStreams(
            db,
            changes,
            is_enabled=STREAMING in settings.feature_switches,
        ),
        reports=AgentReports(engine, live, logs, trigger_planning),
        tokens=TaskTokens(cluster.secret),
        facts=_facts(settings, cluster),
    )


def _facts(settings: Settings, cluster: Cluster) -> MasterFacts:
    authz = settings.security.authz
    return MasterFacts(
        version=__version__,
        master_id=str(entropy.new_uuid()),
        cluster_id=cluster.cluster_id,
        cluster_name=settings.cluster_name,
        feature_switches=settings.feature_switches,
        shows_roles=authz.shows_roles,
        is_queue_strict=authz.strict_job_queue_control,
        has_custom_logo=settings.ui_customization.logo_paths is not None,
    )
