"""The fake cluster in a thread of its own, for tests that start real processes."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Coroutine
from pathlib import Path
from typing import Any, TypeVar

from tests.fake_kubernetes.kubelet import FakeKubelet
from tests.fake_kubernetes.server import FakeServer

_T = TypeVar("_T")


class RunningCluster:
    """A fake cluster; its parts are only touched from its own loop, by `do`."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self.loop.run_forever, name="fake kubernetes")

    def __enter__(self) -> RunningCluster:
        self._thread.start()
        self.do(self._start())
        return self

    def __exit__(self, *exc: object) -> None:
        self.do(self.kubelet.stop())
        self.do(self.server.stop())
        self.do(self._cancel_rest())
        self.loop.call_soon_threadsafe(self.loop.stop)
        self._thread.join(10)
        self.loop.close()

    def do(self, work: Coroutine[Any, Any, _T]) -> _T:
        """Run it in the cluster's loop."""
        return asyncio.run_coroutine_threadsafe(work, self.loop).result(30)

    async def _start(self) -> None:
        self.server = FakeServer()
        self.kubelet = FakeKubelet(self.server, self.root / "pods")
        await self.server.start()
        self.kubeconfig = self.server.kubeconfig(self.root / "kubeconfig")

    async def _cancel_rest(self) -> None:
        others = [t for t in asyncio.all_tasks() if t is not asyncio.current_task()]
        for task in others:
            task.cancel()
        await asyncio.gather(*others, return_exceptions=True)
