"""An event loop whose clock jumps, and processes in it that can be killed or stopped.

Nothing ever waits for real: when nothing is ready the clock continues to the next timer. Two runs
of one seed do the same in the same order, as long as the order of sets of strings is the same
(PYTHONHASHSEED).
"""

from __future__ import annotations

import asyncio
import contextvars
import heapq
import itertools
from collections.abc import Callable, Coroutine
from typing import Any

PROCESS: contextvars.ContextVar[Process | None] = contextvars.ContextVar("process", default=None)


_MAX_AT_ONCE = 100_000
"""More callbacks at one instant are a circle."""
_SHORTEST_S = 1e-6
_DEEPEST = 20
"""More task groups are never nested."""


class Process:
    """What dies and stands still as one: a master, an agent, a machine with its containers."""

    def __init__(self, name: str, loop: SimLoop) -> None:
        self.name = name
        self.is_dead = False
        self.is_stopped = False
        self._loop = loop
        self._held: list[asyncio.Handle] = []
        self._tasks: dict[SimTask, None] = {}
        self.at_death: list[Callable[[], None]] = []
        """What the rest of the world notices at once, as that its sockets are closed."""

    def __str__(self) -> str:
        return self.name

    def spawn(self, work: Coroutine[Any, Any, Any]) -> asyncio.Task[Any]:
        """Run something as a part of this process."""
        context = contextvars.copy_context()
        context.run(PROCESS.set, self)
        return self._loop.create_task(work, context=context)

    def call(self, function: Callable[..., Any], *args: Any) -> Any:
        """Run something synchronous as a part of this process."""
        context = contextvars.copy_context()
        context.run(PROCESS.set, self)
        return context.run(function, *args)

    def kill(self) -> None:
        """SIGKILL: none of its code runs any more, from this instant on."""
        if self.is_dead:
            return
        self.is_dead = True
        self._held.clear()
        for notice in list(self.at_death):
            notice()
        tasks, self._tasks = self._tasks, {}
        # Not before the task that is on the stack now has left it.
        self._loop.bury(list(tasks))

    def stop(self) -> None:
        """SIGSTOP: it stands still until `go_on`."""
        self.is_stopped = True

    def go_on(self) -> None:
        """SIGCONT."""
        self.is_stopped = False
        held, self._held = self._held, []
        for handle in held:
            self._loop.take_back(handle)

    def hold(self, handle: asyncio.Handle) -> None:
        """Keep what is to run until it continues."""
        self._held.append(handle)

    def own(self, task: SimTask) -> None:
        """A task of this process."""
        self._tasks[task] = None

    def disown(self, task: asyncio.Task[Any]) -> None:
        """It is over."""
        self._tasks.pop(task, None)  # type: ignore[call-overload]  # a SimTask, as all are


_numbers = itertools.count(1)


class SimTask(asyncio.Task):  # type: ignore[type-arg]
    """A task whose place in a set is the same in each run."""

    def __init__(self, coro: Any, *, context: contextvars.Context, **options: Any) -> None:
        self.number = next(_numbers)
        self.process = context.get(PROCESS)
        self.context = context
        super().__init__(coro, context=context, **options)

    def __hash__(self) -> int:
        return self.number

    def __eq__(self, other: object) -> bool:
        return self is other

    def bury(self) -> None:
        """Unwind it without running any of it to an end."""
        coro = self.get_coro()
        for _ in range(_DEEPEST):
            try:
                self.context.run(coro.close)
                return
            except KeyboardInterrupt:
                raise
            except BaseException:
                continue  # it awaits or complains while it is unwound: that is unwound next


class SimFuture(asyncio.Future):  # type: ignore[type-arg]
    """The same for a future."""

    def __init__(self, *args: Any, **options: Any) -> None:
        self.number = next(_numbers)
        self.process = PROCESS.get()
        super().__init__(*args, **options)

    def __hash__(self) -> int:
        return self.number

    def __eq__(self, other: object) -> bool:
        return self is other


class Stalled(Exception):
    """Nothing is ready and no timer is set: the simulation waits forever."""


class SimLoop(asyncio.BaseEventLoop):
    """Runs what is ready, then jumps to the next timer."""

    def __init__(self) -> None:
        super().__init__()
        self._now = 1000.0
        self._graves: list[SimTask] = []
        self._at_this_instant = 0
        self.set_task_factory(_make_task)

    def time(self) -> float:
        """Simulated seconds."""
        return self._now

    def call_at(
        self, when: float, callback: Any, *args: Any, context: Any = None
    ) -> asyncio.TimerHandle:
        """Some time passes until any timer goes off, as it does on a real machine."""
        return super().call_at(
            max(when, self._now + _SHORTEST_S), callback, *args, context=context
        )

    def create_future(self) -> SimFuture:
        """A future of this loop."""
        return SimFuture(loop=self)

    def run_in_executor(self, executor: Any, func: Any, *args: Any) -> Any:
        """There are no threads: it is done at once."""
        future = self.create_future()
        try:
            future.set_result(func(*args))
        except Exception as error:
            future.set_exception(error)
        return future

    def later(self, seconds: float, function: Callable[..., Any], *args: Any) -> None:
        """Call something that belongs to no process, whoever dies meanwhile."""
        self.call_later(seconds, function, *args, context=contextvars.Context())

    def call_exception_handler(self, context: dict[str, Any]) -> None:
        """Complain, but not of what a killed process would have read a moment later."""
        of = context.get("task") or context.get("future")
        if isinstance(of, SimTask | SimFuture) and of.process is not None and of.process.is_dead:
            return
        super().call_exception_handler(context)

    def bury(self, tasks: list[SimTask]) -> None:
        """Close what dead tasks hold, before anything else runs."""
        for task in tasks:
            task._log_destroy_pending = False
        self._graves += tasks

    def take_back(self, handle: asyncio.Handle) -> None:
        """Run what a stopped process was to run."""
        self._ready.append(handle)

    def _run_once(self) -> None:
        if self._graves:
            self.close_graves()
        if not self._ready:
            while self._scheduled and self._scheduled[0]._cancelled:
                self._drop_timer()
            if not self._scheduled:
                if self._stopping:
                    return
                raise Stalled("nothing is ready and no timer is set")
            if self._scheduled[0]._when > self._now:
                self._now = self._scheduled[0]._when
                self._at_this_instant = 0
        while self._scheduled and self._scheduled[0]._when <= self._now:
            self._ready.append(self._drop_timer())
        if self._timer_cancelled_count > 200 and 2 * self._timer_cancelled_count > len(
            self._scheduled
        ):
            self._forget_cancelled()
        for _ in range(len(self._ready)):
            self._run_one(self._ready.popleft())
            if self._graves:
                self.close_graves()

    def _run_one(self, handle: asyncio.Handle) -> None:
        if handle._cancelled:
            return
        process = handle._context.get(PROCESS)
        if process is not None:
            if process.is_dead:
                return
            if process.is_stopped:
                process.hold(handle)
                return
        self._at_this_instant += 1
        if self._at_this_instant > _MAX_AT_ONCE:
            self._at_this_instant = 0
            raise Stalled(f"time stands still: {handle!r} runs again and again")
        handle._run()

    def _drop_timer(self) -> asyncio.TimerHandle:
        handle = heapq.heappop(self._scheduled)
        handle._scheduled = False
        if handle._cancelled:
            self._timer_cancelled_count -= 1
        return handle

    def _forget_cancelled(self) -> None:
        kept = []
        for handle in self._scheduled:
            if handle._cancelled:
                handle._scheduled = False
            else:
                kept.append(handle)
        heapq.heapify(kept)
        self._scheduled = kept
        self._timer_cancelled_count = 0

    def close_graves(self) -> None:
        """Unwind what killed processes were in the middle of, without any effect outside."""
        graves, self._graves = self._graves, []
        for task in graves:
            task.bury()

    def _process_events(self, event_list: Any) -> None:
        raise AssertionError("no selector is asked")

    def _write_to_self(self) -> None:
        return


def _make_task(
    loop: asyncio.AbstractEventLoop, coro: Any, context: contextvars.Context | None = None
) -> SimTask:
    context = context or contextvars.copy_context()
    process = context.get(PROCESS)
    task = SimTask(coro, loop=loop, context=context)
    if process is not None:
        process.own(task)
        task.add_done_callback(process.disown)
    return task
