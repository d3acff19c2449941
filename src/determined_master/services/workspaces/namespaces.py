"""Use cases of Kubernetes namespaces: in which one the tasks of a workspace run."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

import msgspec

from determined_master.domain.access import rules as access
from determined_master.domain.errors import (
    DetError,
    FailedPrecondition,
    InvalidArgument,
    NotFound,
    Unimplemented,
)
from determined_master.domain.workspaces.namespaces import auto_name
from determined_master.store.workspaces import namespaces as rows
from determined_master.store.workspaces import workspaces

if TYPE_CHECKING:
    from determined_master.domain.access.rules import Caller
    from determined_master.ports.kubernetes import Namespaces
    from determined_master.store.db import Database

log = logging.getLogger(__name__)

NO_KUBERNETES = (
    "operation not supported: this master has no Kubernetes resource manager, so workspaces have "
    "no namespaces; its tasks run on agents"
)
REFUSAL = "the current user has no permission to {} of workspaces: ask an admin"


class NamespaceChange(msgspec.Struct, frozen=True, kw_only=True):
    """A request for one cluster: exactly one of the first three."""

    namespace: str | None = None
    is_made: bool = False
    """Bind to a namespace of its own, which is made when it is not there."""
    is_made_everywhere: bool = False
    """The same in all clusters."""
    manager: str = ""
    """Its resource manager; empty for the only one."""
    quota: int | None = None


class Binding(msgspec.Struct, frozen=True):
    """Where the tasks of a workspace run in one cluster."""

    namespace: str
    is_made: bool = False


class NamespacesOf(msgspec.Struct, frozen=True):
    """Of one Kubernetes cluster."""

    calls: Namespaces
    default_namespace: str


class WorkspaceNamespaces:
    """The namespaces of workspaces; clusters are queried outside transactions."""

    def __init__(
        self, db: Database, clusters: Mapping[str, NamespacesOf], cluster_id: str
    ) -> None:
        """`clusters`: by the name of their resource manager; none where all is agents."""
        self._db = db
        self._clusters = clusters
        self._cluster_id = cluster_id

    @property
    def managers(self) -> list[str]:
        """Names of the resource managers that have namespaces."""
        return list(self._clusters)

    async def bind(
        self, caller: Caller, workspace_id: int, changes: Sequence[NamespaceChange]
    ) -> dict[str, Binding]:
        """Bind a workspace to namespaces; new tasks run there, those that run stay.

        Returns:
            The new bindings, by manager.

        Raises:
            Unimplemented: there is no Kubernetes manager.
            InvalidArgument: a change names no cluster, or not exactly one thing to do.
            NotFound: no such workspace, manager or namespace.
            PermissionDenied: the caller is no admin.
            FailedPrecondition: a quota of a namespace that is not the master's own.
            Unavailable: a cluster does not answer; earlier bindings stay.
        """
        await self.check(caller, changes)
        name = await self._name_of(caller, workspace_id)
        found: dict[str, Binding] = {}
        for manager, change in self._targets(changes):
            found[manager] = await self._bind(workspace_id, name, manager, change)
        return found

    async def check(self, caller: Caller, changes: Sequence[NamespaceChange]) -> None:
        """Do nothing when these changes could be made of a workspace.

        Raises:
            DetError: as `bind`.
        """
        self._need_clusters()
        access.may(caller, "edit", "namespace", refusal=REFUSAL.format("set the namespaces"))
        for manager, change in self._targets(changes):
            if change.quota is not None:
                access.may(caller, "edit", "quota", refusal=REFUSAL.format("set the quotas"))
                _check_quota(manager, change.quota)
            name = change.namespace
            if name and not await self._clusters[manager].calls.has_namespace(name):
                raise NotFound(
                    f"namespace {name!r} does not exist in cluster {manager!r}: create it there, "
                    "or let one be made (autoCreateNamespace)"
                )

    async def list_all(self, caller: Caller, workspace_id: int) -> dict[str, Binding]:
        """Where the tasks of a workspace run, by manager; the default one where it is unbound.

        Raises:
            Unimplemented: there is no Kubernetes manager. NotFound: no such workspace.
        """
        self._need_clusters()
        await self._name_of(caller, workspace_id)
        async with self._db.acquire() as conn:
            bound = await rows.list_bindings(conn, workspace_id)
        known = {row.manager: Binding(row.namespace, row.is_made) for row in bound}
        return {
            name: known.get(name) or Binding(cluster.default_namespace)
            for name, cluster in self._clusters.items()
        }

    async def unbind(self, caller: Caller, workspace_id: int, managers: Sequence[str]) -> None:
        """Let new tasks of a workspace run in the default namespaces again.

        Raises:
            Unimplemented, PermissionDenied: as `bind`.
            NotFound: no such workspace or manager.
            FailedPrecondition: it uses the default namespace of one of them.
        """
        self._need_clusters()
        access.may(caller, "edit", "namespace", refusal=REFUSAL.format("set the namespaces"))
        name = await self._name_of(caller, workspace_id)
        chosen = [self._manager(manager) for manager in managers or ("",)]
        async with self._db.acquire() as conn, conn.transaction():
            missing = set(chosen) - await rows.delete_bindings(conn, workspace_id, chosen)
            if missing:
                raise FailedPrecondition(
                    f"workspace {name!r} uses the default namespace of "
                    f"{', '.join(sorted(missing))}: that binding cannot be deleted"
                )

    async def set_quotas(
        self, caller: Caller, workspace_id: int, quotas: Mapping[str, int]
    ) -> None:
        """Say how many GPUs a workspace's own namespaces may request, by manager.

        Raises:
            Unimplemented, NotFound, PermissionDenied, Unavailable: as `bind`.
            InvalidArgument: a number below 0.
            FailedPrecondition: the namespace is not the master's own, or another quota of it
                is lower.
        """
        self._need_clusters()
        access.may(caller, "edit", "quota", refusal=REFUSAL.format("set the quotas"))
        wanted = {self._manager(manager): gpus for manager, gpus in quotas.items()}
        bound = await self.list_all(caller, workspace_id)
        for manager, gpus in wanted.items():
            _check_quota(manager, gpus)
            await self._set_quota(manager, bound[manager], gpus)

    async def quotas(self, caller: Caller, workspace_id: int) -> dict[str, float]:
        """The lowest quota of GPUs of a workspace's namespace, by manager, where there is one.

        Raises:
            Unimplemented, NotFound, Unavailable: as `bind`.
        """
        self._need_clusters()
        access.may(caller, "read", "quota", workspace_id=workspace_id)
        found = {}
        for manager, binding in (await self.list_all(caller, workspace_id)).items():
            quotas = await self._clusters[manager].calls.quotas(binding.namespace)
            if quotas:
                found[manager] = min(quota.gpus for quota in quotas)
        return found

    async def with_defaults(self, caller: Caller) -> list[int]:
        """Ids of the workspaces that use the default namespace of any manager."""
        access.may(caller, "read", "workspace")
        async with self._db.acquire() as conn:
            found = await rows.list_unbound(conn, self.managers)
        seen = access.visible(caller, "workspace")
        return found if seen is None else sorted(set(found).intersection(seen))

    async def make_for(self, caller: Caller, workspace_ids: Sequence[int]) -> None:
        """Bind workspaces to namespaces of their own wherever they use the default one.

        Raises:
            DetError: as `bind`; the workspaces before the one that failed are bound.
        """
        self._need_clusters()
        access.may(caller, "edit", "namespace", refusal=REFUSAL.format("set the namespaces"))
        for workspace_id in workspace_ids:
            name = await self._name_of(caller, workspace_id)
            async with self._db.acquire() as conn:
                bound = {row.manager for row in await rows.list_bindings(conn, workspace_id)}
            for manager in self._clusters:
                if manager not in bound:
                    change = NamespaceChange(is_made=True, manager=manager)
                    await self._bind(workspace_id, name, manager, change)

    async def sweep(self) -> int:
        """Delete the namespaces that were created for deleted workspaces; returns how many."""
        async with self._db.acquire() as conn:
            left = await rows.list_left(conn)
        done = 0
        for manager, namespace in left:
            cluster = self._clusters.get(manager)
            if cluster is None or namespace in self._defaults():
                continue
            try:
                is_gone = await cluster.calls.delete_namespace(namespace)
            except DetError as error:
                log.warning(
                    "the namespace of a deleted workspace is still there: %s",
                    error,
                    extra={"namespace": namespace, "resource_manager": manager},
                )
                continue
            if not is_gone:
                log.warning(
                    "the namespace of a deleted workspace is not this master's: it stays",
                    extra={"namespace": namespace, "resource_manager": manager},
                )
            async with self._db.acquire() as conn:
                await rows.delete_made(conn, manager, namespace)
            done += is_gone
        return done

    def _defaults(self) -> set[str]:
        return {cluster.default_namespace for cluster in self._clusters.values()}

    async def _bind(
        self, workspace_id: int, workspace: str, manager: str, change: NamespaceChange
    ) -> Binding:
        cluster = self._clusters[manager]
        binding = Binding(change.namespace or "")
        if not change.namespace:
            release = cluster.default_namespace
            made = auto_name(workspace, workspace_id, release, self._cluster_id)
            async with self._db.acquire() as conn:
                kept = await rows.find_made(conn, manager, workspace_id)
                binding = Binding(kept or made, is_made=True)
                await rows.insert_made(conn, manager, binding.namespace, workspace_id)
            if not await cluster.calls.create_namespace(binding.namespace):
                binding = Binding(binding.namespace)  # created by others under the same name
                async with self._db.acquire() as conn:
                    await rows.delete_unmade(conn, manager, binding.namespace, workspace_id)
        async with self._db.acquire() as conn:
            await rows.upsert_binding(conn, workspace_id, manager, binding.namespace)
        if change.quota is not None:
            await self._set_quota(manager, binding, change.quota)
        return binding

    async def _set_quota(self, manager: str, binding: Binding, gpus: int) -> None:
        calls, namespace = self._clusters[manager].calls, binding.namespace
        if not binding.is_made:
            raise FailedPrecondition(
                f"namespace {namespace!r} of cluster {manager!r} was not made by this master, so "
                "its quota is not set from here: let one be made for the workspace "
                "(autoCreateNamespace), or set a ResourceQuota in the cluster"
            )
        lower = [q for q in await calls.quotas(namespace) if not q.is_own and q.gpus < gpus]
        if lower:
            raise FailedPrecondition(
                f"quota {lower[0].name!r} of namespace {namespace!r} allows {lower[0].gpus:g} "
                f"GPUs, so {gpus} would have no effect: change it in the cluster first, or ask "
                "for less"
            )
        await calls.set_quota(namespace, gpus)

    def _targets(
        self, changes: Sequence[NamespaceChange]
    ) -> Iterator[tuple[str, NamespaceChange]]:
        """Manager and change, each manager once.

        Raises:
            InvalidArgument, NotFound: as `bind`.
        """
        seen: set[str] = set()
        for change in changes:
            _check_one_thing(change)
            everywhere = change.is_made_everywhere
            for manager in self.managers if everywhere else (self._manager(change.manager),):
                if manager in seen:
                    raise InvalidArgument(
                        f"cluster {manager!r} is named twice, maybe by a change of all clusters: "
                        "say once what must be done there"
                    )
                seen.add(manager)
                yield manager, change

    def _manager(self, name: str) -> str:
        known = ", ".join(self.managers)
        if name in self._clusters:
            return name
        if name:
            raise NotFound(
                f"no Kubernetes resource manager with cluster name {name!r}: there are {known}"
            )
        if len(self._clusters) > 1:
            raise InvalidArgument(f"name a cluster (clusterName): there are {known}")
        return self.managers[0]

    async def _name_of(self, caller: Caller, workspace_id: int) -> str:
        access.may(caller, "read", "workspace")
        async with self._db.acquire() as conn:
            row = await workspaces.find_workspace(conn, workspace_id, caller.user_id)
        if row is None:
            raise NotFound(f"workspace '{workspace_id}' not found")
        return row.name

    def _need_clusters(self) -> None:
        if not self._clusters:
            raise Unimplemented(NO_KUBERNETES)


def _check_one_thing(change: NamespaceChange) -> None:
    if change.is_made_everywhere and change.manager:
        raise InvalidArgument(
            "autoCreateNamespaceAllClusters is for all clusters, and "
            f"{change.manager!r} is named: leave one of them out"
        )
    asked = bool(change.namespace) + (change.is_made or change.is_made_everywhere)
    if asked != 1:
        text = "both a namespace and one that is made" if asked else "no namespace"
        raise InvalidArgument(
            f"the binding names {text}: give either namespace or autoCreateNamespace"
        )


def _check_quota(manager: str, gpus: int) -> None:
    if gpus < 0:
        raise InvalidArgument(
            f"the quota of {manager!r} must be at least 0 GPUs, but found {gpus}"
        )
