"""Requests for nodes by `ProvisioningRequest` objects of Cluster Autoscaler.

One object asks for the nodes of all pods of a task, so that the autoscaler adds all of them or
none. It is removed as soon as its task has nodes, or does not wait any more. The autoscaler tries
a request that has ended no more: another one is made after a pause that grows. All state is in the
objects, so that the next master continues.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from datetime import datetime
from typing import Any

import msgspec

from determined_master import clock
from determined_master.backends.kubernetes import names
from determined_master.backends.kubernetes.client import (
    KubernetesApi,
    KubernetesRefused,
    KubernetesUnreachable,
)
from determined_master.backends.kubernetes.demand.placeholders import KEPT_S, Placeholders
from determined_master.backends.kubernetes.manifest.placeholder import DEMAND, readable
from determined_master.backends.kubernetes.manifest.provisioning import (
    ATTEMPT,
    GROUP,
    Provisioning,
    provisioning,
)
from determined_master.backends.kubernetes.options import ClusterOptions
from determined_master.backends.kubernetes.pods.status import instant
from determined_master.backends.kubernetes.watches.watch import ObjectChanged, ObjectsListed
from determined_master.domain.pods.provisioning import BACKOFF, Answer, answer_of, sentence
from determined_master.ports.kubernetes import NodeRequest, NodesAsked

log = logging.getLogger(__name__)

LISTED_AGAIN_S = 5.0
"""How old a known answer may be."""
REFUSED_S = 60.0
"""Time before a request is made again that the API server did not accept."""
KIND = "provisioningrequests"
NOT_INSTALLED = (
    "the cluster has no ProvisioningRequest objects (autoscaling.x-k8s.io/v1), so it cannot be "
    "asked for nodes: install Cluster Autoscaler's CustomResourceDefinition and start it with "
    "--enable-provisioning-requests, or set resource_manager.autoscaling.demand to pods"
)
_Key = tuple[str, str]
"""Namespace, and name without the number of the attempt."""
Json = Mapping[str, Any]


class _Found(msgspec.Struct, frozen=True, kw_only=True):
    """A request that exists."""

    namespace: str
    name: str
    allocation_id: str
    attempt: int
    templates: tuple[str, ...]
    created_at: datetime
    answer: Answer = Answer()

    @property
    def key(self) -> _Key:
        return self.namespace, self.name.rpartition("-")[0]

    @property
    def again_at(self) -> datetime | None:
        """When another one is made; None while something may come of this one."""
        if not self.answer.is_over:
            return None
        return (self.answer.at or self.created_at) + BACKOFF.after(self.attempt)


class ProvisioningRequests:
    """Those of one cluster, while its master leads."""

    def __init__(
        self, options: ClusterOptions, api: KubernetesApi, placeholders: Placeholders
    ) -> None:
        """
        Args:
            options: of the cluster.
            api: calls it.
            placeholders: without requests: removes those of settings from before.
        """
        self._options = options
        self._api = api
        self._placeholders = placeholders
        self._requests: dict[str, tuple[NodeRequest, ...]] = {}
        """By pool."""
        self._found: dict[_Key, _Found] | None = None
        """None before they were listed."""
        self._listed_at_s = 0.0
        self._keeps_until_s = 0.0
        """Until when nothing is withdrawn, by the monotonic clock."""
        self._released: set[str] = set()
        """Allocations whose pods are made: the next decision on their pool omits them."""
        self._refused: dict[_Key, tuple[str, str, float]] = {}
        """Requests that could not be made: allocation, why, and until when that counts, by the
        monotonic clock."""
        self._not_listed = ""
        """Why the requests cannot be read at all; empty when they can."""
        self._logged: set[str] = set()

    def request(self, pool: str, requests: tuple[NodeRequest, ...]) -> None:
        """From now on, tasks of this pool wait for nodes as these do, and no others."""
        self._requests[pool] = readable(requests)
        self._released &= self._waiting()

    def asked(self, allocation_id: str) -> NodesAsked | None:
        """When nodes were asked for and the answer, or why that is not possible."""
        for entry in (self._found or {}).values():
            if entry.allocation_id == allocation_id:
                return NodesAsked(
                    at=entry.created_at,
                    text=sentence(entry.answer, entry.again_at),
                    admin_text=sentence(entry.answer, entry.again_at, for_admin=True),
                )
        if allocation_id not in self._waiting():
            return None
        refusals = [why for who, why, _ in self._refused.values() if who == allocation_id]
        why = self._not_listed or next(iter(refusals), "")
        return NodesAsked(text=why, admin_text=why) if why else None

    async def make_room(self, allocation_id: str, agent_id: str) -> None:
        """Withdraw the request of a task whose pods are made now. Raises Unreachable."""
        await self._placeholders.make_room(allocation_id, agent_id)
        self._released.add(allocation_id)
        for entry in [f for f in (self._found or {}).values() if f.allocation_id == allocation_id]:
            await self._withdraw(entry)

    def forget(self) -> None:
        """List them again: another master may have led."""
        self._placeholders.forget()
        self._found = None
        self._requests.clear()
        self._released.clear()
        self._refused.clear()

    def take(self, change: ObjectsListed | ObjectChanged) -> None:
        """Pods of this master were listed, or one has changed."""
        self._placeholders.take(change)

    def priority_classes(self) -> set[str]:
        """The names of the PriorityClasses in use."""
        return self._placeholders.priority_classes()

    async def reconcile(self) -> None:
        """Make missing requests, and remove those that nothing waits for.

        Raises:
            Unreachable: the API server does not answer.
        """
        await self._placeholders.reconcile()
        needed = self._wanted()
        if not await self._refresh(is_needed=bool(needed)):
            return
        assert self._found is not None
        now, now_s = clock.now(), clock.monotonic_s()
        for entry in [f for key, f in self._found.items() if key not in needed]:
            if now_s >= self._keeps_until_s or entry.allocation_id in self._released:
                await self._withdraw(entry)
        self._refused = {key: r for key, r in self._refused.items() if r[2] > now_s}
        for key, request in needed.items():
            existing = self._found.get(key)
            if request.allocation_id in self._released or key in self._refused:
                continue
            if existing is not None:
                if existing.again_at is None or now < existing.again_at:
                    continue
                await self._withdraw(existing)
            attempt = 1 if existing is None else existing.attempt + 1
            await self._make(provisioning(request, attempt, self._options), request, attempt)

    def _waiting(self) -> set[str]:
        return {r.allocation_id for requests in self._requests.values() for r in requests}

    def _wanted(self) -> dict[_Key, NodeRequest]:
        every = (r for requests in self._requests.values() for r in requests)
        return {
            provisioning(request, 1, self._options).key: request
            for request in every
            if request.allocation_id not in self._released
        }

    async def _refresh(self, *, is_needed: bool) -> bool:
        """List the requests where what is known is too old; returns whether they are known."""
        now_s = clock.monotonic_s()
        is_old = now_s - self._listed_at_s >= (REFUSED_S if self._not_listed else LISTED_AGAIN_S)
        is_first = self._found is None and not self._not_listed
        if is_first or (is_old and (is_needed or bool(self._found) or self._found is None)):
            self._listed_at_s = now_s
            try:
                await self._list()
            except KubernetesRefused as error:
                self._not_listed = _remedy(error)
                self._warn("%s", self._not_listed)
            else:
                self._not_listed = ""
        return self._found is not None and not self._not_listed

    async def _list(self) -> None:
        """Learn the requests and their answers; remove templates without a request."""
        requests = await self._items(KIND, GROUP)
        if self._found is None:
            self._keeps_until_s = clock.monotonic_s() + KEPT_S
            templates = {name for r in requests for name in _templates(r)}
            for template in await self._items("podtemplates", "/api/v1"):
                meta = template["metadata"]
                if str(meta["name"]) not in templates:
                    await self._delete("/api/v1", str(meta["namespace"]), "podtemplates", meta)
        by_key: dict[_Key, _Found] = {}
        for item in requests:
            one = _found(item)
            before = by_key.get(one.key)
            if before is not None:  # an attempt whose removal has failed
                older, one = sorted((before, one), key=lambda f: f.attempt)
                await self._withdraw(older)
            by_key[one.key] = one
        self._found = by_key

    async def _items(self, kind: str, group: str) -> list[Json]:
        query = {"labelSelector": f"{names.CLUSTER}={self._options.cluster_id},{DEMAND}=true"}
        items: list[Json] = []
        for path in self._options.paths_of(kind, group):
            listed = await self._api.call("GET", path, query=query)
            items += listed.get("items") or ()
        return items

    async def _make(self, objects: Provisioning, request: NodeRequest, attempt: int) -> None:
        meta = objects.request["metadata"]
        namespace = meta["namespace"]
        try:
            for template in objects.templates:
                await self._create(f"/api/v1/namespaces/{namespace}/podtemplates", template)
            await self._create(f"{GROUP}/namespaces/{namespace}/{KIND}", objects.request)
        except KubernetesRefused as error:
            text = f"nodes cannot be asked for: {_remedy(error)}"
            until_s = clock.monotonic_s() + REFUSED_S
            self._refused[objects.key] = request.allocation_id, text, until_s
            self._warn("%s", text)
            for template in objects.templates:
                await self._delete("/api/v1", namespace, "podtemplates", template["metadata"])
            return
        assert self._found is not None
        self._found[objects.key] = _Found(
            namespace=namespace,
            name=meta["name"],
            allocation_id=request.allocation_id,
            attempt=attempt,
            templates=tuple(t["metadata"]["name"] for t in objects.templates),
            created_at=clock.now(),
        )

    async def _create(self, path: str, body: Json) -> None:
        try:
            await self._api.call("POST", path, body=body)
        except KubernetesRefused as error:
            if error.reason != "AlreadyExists":
                raise

    async def _withdraw(self, entry: _Found) -> None:
        """Remove a request and its templates; the autoscaler forgets it at once."""
        await self._delete(GROUP, entry.namespace, KIND, {"name": entry.name})
        for name in entry.templates:
            await self._delete("/api/v1", entry.namespace, "podtemplates", {"name": name})
        by_key = self._found or {}
        if by_key.get(entry.key) is entry:
            del by_key[entry.key]

    async def _delete(self, group: str, namespace: str, kind: str, meta: Json) -> None:
        path = f"{group}/namespaces/{namespace}/{kind}/{meta['name']}"
        try:
            await self._api.call("DELETE", path)
        except KubernetesRefused as error:
            if error.status != 404:
                raise KubernetesUnreachable(str(error)) from error

    def _warn(self, text: str, why: str) -> None:
        """Log a refusal, each one once."""
        if why not in self._logged:
            self._logged.add(why)
            log.warning(text, why)


def _found(item: Json) -> _Found:
    meta = item["metadata"]
    notes = meta.get("annotations") or {}
    number = str(notes.get(ATTEMPT, ""))
    return _Found(
        namespace=str(meta["namespace"]),
        name=str(meta["name"]),
        allocation_id=str(notes.get(DEMAND, "")),
        attempt=int(number) if number.isdecimal() and len(number) < 6 else 1,
        templates=tuple(_templates(item)),
        created_at=instant(meta.get("creationTimestamp")) or clock.now(),
        answer=answer_of((item.get("status") or {}).get("conditions") or ()),
    )


def _templates(item: Json) -> list[str]:
    sets = (item.get("spec") or {}).get("podSets") or ()
    return [str(one["podTemplateRef"]["name"]) for one in sets]


def _remedy(error: KubernetesRefused) -> str:
    if error.status == 404 and "namespaces" not in str(error):
        return NOT_INSTALLED
    if error.status == 403:
        return f"{error}; give the master's account the rights of docs/kubernetes-permissions.md"
    return str(error)
