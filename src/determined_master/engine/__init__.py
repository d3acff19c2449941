"""The one entry and the one applier of events; journal, outbox, timers, leadership."""

from determined_master.engine.effects.executor import RetryPolicy
from determined_master.engine.effects.handlers import EffectContext, Handlers
from determined_master.engine.engine import Current, Engine
from determined_master.engine.errors import Deferred, EngineUnavailable, InternalError, NotLeader
from determined_master.engine.feed import Changed, Feed
from determined_master.engine.ids import EffectId
from determined_master.engine.kind import (
    Change,
    ContextLoader,
    Inserting,
    Kind,
    Outcome,
    Parts,
    Posting,
    Rows,
    RowWriter,
    Within,
)
from determined_master.engine.leadership.term import EngineSettings
from determined_master.engine.story import count_story, list_story

__all__ = [
    "Change",
    "Changed",
    "ContextLoader",
    "Current",
    "Deferred",
    "EffectContext",
    "EffectId",
    "Engine",
    "EngineSettings",
    "EngineUnavailable",
    "Feed",
    "Handlers",
    "Inserting",
    "InternalError",
    "Kind",
    "NotLeader",
    "Outcome",
    "Parts",
    "RetryPolicy",
    "Posting",
    "RowWriter",
    "Rows",
    "Within",
    "count_story",
    "list_story",
]
