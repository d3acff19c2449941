"""The queues: pools, planners, and machines on demand."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from determined_master.composition.machine_providers import make_providers
from determined_master.composition.pod_questions import (
    device_note,
    nodes_asked,
    pod_placements,
    pool_trouble,
    waits_in_cluster,
)
from determined_master.pools.loops import PoolLoops
from determined_master.pools.recorder import Recorder
from determined_master.provision.loops import LoopDependencies, MachineLoops, sizes_of
from determined_master.services.cluster.pool_bindings import PoolBindings
from determined_master.services.cluster.pools import Pools
from determined_master.services.configs.defaults import pool_configs
from determined_master.services.queue.job_queue import JobQueue
from determined_master.services.queue.job_terms import JobTermsSync
from determined_master.services.queue.job_why import ClusterWaits, JobWhy
from determined_master.services.queue.wait_lines import WaitLines

if TYPE_CHECKING:
    from determined_master.composition.backends import MasterBackends
    from determined_master.composition.core_services import CoreServices


@dataclass(frozen=True)
class QueueServices:
    """The pools, their planner, and the recorder of plans."""

    pools: Pools
    bindings: PoolBindings
    queue: JobQueue
    terms: JobTermsSync
    recorder: Recorder
    loops: PoolLoops
    machines: MachineLoops
    job_why: JobWhy
    wait_lines: WaitLines


def build_queue_services(base: CoreServices, backends: MasterBackends) -> QueueServices:
    settings, engine, db, live = base.settings, base.engine, base.db, base.live
    agents = backends.runner.agents
    providers = make_providers(settings, base.cluster)
    recorder = Recorder(db)
    configs = pool_configs(settings, sizes_of(settings.resource_pools, providers))
    pods = pod_placements(base, backends)
    loops = PoolLoops(configs, engine, agents, live, recorder.note, pods)
    dependencies = LoopDependencies(engine, db, live, agents, loops)
    machines = MachineLoops(settings.resource_pools, providers, dependencies)
    troubles = partial(pool_trouble, settings, backends)
    pools = Pools(settings, backends.runner, live, providers, machines.status, troubles)
    count_nodes = partial(nodes_asked, settings, backends)
    held = partial(waits_in_cluster, settings, backends)
    clusters = ClusterWaits(troubles, count_nodes, held, partial(device_note, settings, backends))
    has_roles = settings.security.authz.has_roles
    job_why = JobWhy(db, live, loops.decision, machines.status, clusters, has_roles=has_roles)
    return QueueServices(
        pools=pools,
        bindings=PoolBindings(db, pools),
        queue=JobQueue(db, live, pools),
        terms=JobTermsSync(engine, db, live),
        recorder=recorder,
        loops=loops,
        machines=machines,
        job_why=job_why,
        wait_lines=WaitLines(db, live, job_why, base.logs),
    )
