"""Looking for the patterns of log policies in the lines of trials."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Sequence
from typing import TYPE_CHECKING

import msgspec

from determined_master.aggregates.trials import TRIAL
from determined_master.domain.config.sections.log_policies import LogPolicy, typed_policies
from determined_master.domain.ids import TrialId
from determined_master.domain.patterns import PatternSet, find_fault
from determined_master.domain.trial.messages import AgentExcluded, RetriesCanceled, TrialEvent
from determined_master.engine.causes import LogPolicyMatched
from determined_master.store.logs import cursors
from determined_master.store.logs import policies as rows

if TYPE_CHECKING:
    import asyncpg

    from determined_master.engine import Engine

MAX_KNOWN_TASKS = 5000
LINES_AT_ONCE = 1000
"""To look through more would hold the loop."""
CONFIG_ECHO = '"log_policies":'
"""A line that shows the configuration would match every pattern in it."""


class _Compiled(msgspec.Struct, frozen=True):
    policies: tuple[LogPolicy, ...]
    patterns: PatternSet
    trial_id: int
    matched: set[tuple[int, str]] = msgspec.field(default_factory=set)
    """Keys of the matches that were acted on; forgotten with the task."""

    def key_of(self, index: int, agent_id: str) -> tuple[int, str]:
        """What a policy acts on once: an agent that it excludes, otherwise the whole task."""
        return index, agent_id if self.policies[index].action == "exclude_node" else ""

    def may_match(self, lines: Sequence[str], agent_id: str) -> bool:
        """Whether one of these lines may match a policy that has not acted for this agent yet."""
        if all(self.key_of(i, agent_id) in self.matched for i in range(len(self.policies))):
            return False
        found = self.patterns.may_match(lines)
        return any(self.key_of(index, agent_id) not in self.matched for index in found)


class LogPolicyMatcher:
    """One set of patterns a task, compiled at its first line."""

    def __init__(self, engine: Engine, db: asyncpg.Pool) -> None:
        self._engine = engine
        self._db = db
        self._known: OrderedDict[str, _Compiled | None] = OrderedDict()

    async def look_at(self, task_id: str, agent_id: str | None, lines: Sequence[str]) -> None:
        """Act on the policies that match one of these lines; each once, as `key_of` says."""
        compiled = await self._compiled(task_id)
        if compiled is None:
            return
        for start in range(0, len(lines), LINES_AT_ONCE):
            if start:
                await asyncio.sleep(0)  # what else waits comes first
            some = [line.rstrip("\r\n") for line in lines[start : start + LINES_AT_ONCE]]
            if compiled.may_match(some, agent_id or ""):
                await self._match(compiled, task_id, agent_id or "", some)

    async def has_seen_all(self, task_id: str, container_ids: Sequence[str]) -> bool:
        """Whether no output of these containers can still change what the trial does.

        It is so when all of it was looked at, or when no policy of the task does anything.
        """
        compiled = await self._compiled(task_id)
        if compiled is None or not any(p.action for p in compiled.policies):
            return True
        async with self._db.acquire() as conn:
            return await cursors.have_completed(conn, container_ids)

    async def _match(
        self, compiled: _Compiled, task_id: str, agent_id: str, lines: Sequence[str]
    ) -> None:
        for line in lines:
            if CONFIG_ECHO in line:
                continue
            for index in compiled.patterns.match(line):
                match = compiled.key_of(index, agent_id)
                if match not in compiled.matched:
                    await self._act(compiled, task_id, match, line)
                    compiled.matched.add(match)

    async def _act(
        self, compiled: _Compiled, task_id: str, match: tuple[int, str], line: str
    ) -> None:
        index, agent_id = match
        policy = compiled.policies[index]
        text = line.rstrip("\n")[:2000]
        event: TrialEvent | None = None
        if policy.action == "cancel_retries":
            event = RetriesCanceled(pattern=policy.pattern or "", line=text)
        elif policy.action == "exclude_node" and agent_id:
            event = AgentExcluded(agent_id=agent_id, pattern=policy.pattern or "", line=text)
        if event is not None:
            cause = LogPolicyMatched(index, task_id, agent_id)
            await self._engine.post(TRIAL, TrialId(compiled.trial_id), event, cause=cause)
        if policy.name:
            async with self._db.acquire() as conn:
                await rows.update_matched(conn, compiled.trial_id, policy.name)

    async def _compiled(self, task_id: str) -> _Compiled | None:
        if task_id in self._known:
            return self._known[task_id]
        async with self._db.acquire() as conn:
            row = await rows.find_policies(conn, task_id)
        compiled = _compile(typed_policies(row.policies or []), row.trial_id) if row else None
        self._known[task_id] = compiled
        if len(self._known) > MAX_KNOWN_TASKS:
            self._known.popitem(last=False)
        return compiled


def _compile(policies: Sequence[LogPolicy], trial_id: int) -> _Compiled | None:
    # One that does not compile is refused when the configuration is checked; an older one may.
    kept = tuple(p for p in policies if p.pattern and find_fault(p.pattern) is None)
    if not kept:
        return None
    return _Compiled(kept, PatternSet([p.pattern or "" for p in kept]), trial_id)
