"""A cluster for the tests of its contract, and one master of it after the other."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from msgspec.structs import replace
from tests.backends.kubernetes.objects import order, spec
from tests.backends.kubernetes.recorder import Recorder

from determined_master.backends.kubernetes.backend import KubernetesBackend
from determined_master.backends.kubernetes.client import KubernetesApi
from determined_master.backends.kubernetes.options import ClusterOptions, Times
from determined_master.entropy import new_uuid
from determined_master.ports.orders import StartOrder
from determined_wire.backoff import Backoff


class World:
    """A cluster, and one master of it after the other."""

    def __init__(
        self,
        options: ClusterOptions,
        image: str,
        limit_s: float,
        missing: str,
        looks_by: str = "",
    ) -> None:
        """`looks_by`: the kubeconfig of the test's own calls, if it is not the master's."""
        self.options = options
        self.image = image
        self.missing = missing
        """An image that is nowhere."""
        self.unmountable = image
        """An image whose pods wait for their volumes; any where volumes are real."""
        self.limit_s = limit_s
        self.events = Recorder()
        self._started: list[tuple[str, str]] = []
        self.api = KubernetesApi(looks_by or options.kubeconfig_path)
        self.backend = self.new_backend()

    def new_backend(
        self,
        grace_s: int = 2,
        unschedulable_s: float = 60.0,
        unstarted_s: float = 600.0,
        **more: Any,
    ) -> KubernetesBackend:
        times = Times(
            backoff=Backoff(0.2, 1.0),
            flush_s=0.05,
            grace_s=grace_s,
            unschedulable_s=unschedulable_s,
            unstarted_s=unstarted_s,
        )
        return KubernetesBackend(self.options, self.events, times=times, **more)

    def other_master(self) -> tuple[KubernetesBackend, Recorder]:
        """A second master on the same cluster, not open yet, and what it reports."""
        events = Recorder()
        options = replace(self.options, cluster_id=str(new_uuid()))
        times = Times(backoff=Backoff(0.2, 1.0), flush_s=0.05, grace_s=2)
        return KubernetesBackend(options, events, times=times), events

    async def open(self) -> None:
        self.backend.open({}, 1)
        await self.until(lambda: any(a.is_connected for a in self.backend.agents()), "nodes")

    async def restart(self, **more: Any) -> None:
        """Another master takes over."""
        await self.backend.close()
        self.backend = self.new_backend(**more)
        await self.open()

    async def close(self) -> None:
        """Leave nothing in the cluster."""
        try:
            for node, container in self._started:
                await self.backend.signal_container(node, container, 9)
            for node, container in self._started:
                if self.backend.pod_of(container) is not None:
                    await self.state(container, "TERMINATED")
                await self.backend.forget_container(node, container)
            await self.is_clean()
        finally:
            await self.backend.close()
            await self.api.close()

    def order(self, script: str, **more: Any) -> StartOrder:
        """A container that runs a line of the shell on the first node that is ready."""
        node = next(a.id for a in self.backend.agents() if a.is_connected)
        container = str(new_uuid())
        self.events.kept.add(container)
        self._started.append((node, container))
        image = more.pop("image", self.image)
        made = spec(entrypoint=("sh", "-c", script), image=image, environment={})
        return order(agent_id=node, container_id=container, spec=made, **more)

    async def until(self, claim: Callable[[], Any], what: str) -> None:
        try:
            async with asyncio.timeout(self.limit_s):
                while not claim():  # noqa: ASYNC110  what is asked for has no event
                    await asyncio.sleep(0.05)
        except TimeoutError:
            raise AssertionError(
                f"{what} did not come true; told: {self.events.reports}"
            ) from None

    async def state(self, container_id: str, state: str) -> None:
        await self.until(lambda: self.events.state(container_id) == state, state)

    async def list(self, kind: str) -> list[Any]:
        """The objects of this master."""
        query = {"labelSelector": f"determined.ai/cluster_id={self.options.cluster_id}"}
        found: list[Any] = (await self.api.call("GET", f"/api/v1/{kind}", query=query))["items"]
        return found

    async def count(self, kind: str) -> int:
        """How many objects of this master there are."""
        return len(await self.list(kind))

    async def is_clean(self) -> None:
        async with asyncio.timeout(self.limit_s):
            while await self.count("pods") or await self.count("secrets"):  # noqa: ASYNC110
                await asyncio.sleep(0.1)

    async def wait_for_end(self) -> None:
        """Wait until all pods of this master have ended."""
        async with asyncio.timeout(self.limit_s):
            while not all(  # noqa: ASYNC110
                pod["status"].get("phase") in ("Failed", "Succeeded")
                for pod in await self.list("pods")
            ):
                await asyncio.sleep(0.1)
