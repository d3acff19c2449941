"""Puts simulated time and randomness, and the simulated network, in the place of the real ones."""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime, timedelta
from random import Random
from typing import Any
from unittest.mock import patch

import determined_agent.clock
import determined_agent.entropy
import determined_agent.link.connection
import determined_agent.logs.shipper
import determined_master.clock
import determined_master.engine.leadership.leader
import determined_master.entropy
from determined_master.services.experiments import configs as experiment_configs
from determined_master.settings.yaml_text import ParsedYaml

START_AT = datetime(2026, 1, 1, tzinfo=UTC)
_LOG_LOOK_S = 20.0
"""Between looks for output of a task that is silent: simulated tasks say little."""


def _read_json(text: str) -> ParsedYaml:
    """Simulated users write JSON: to read that as YAML took a fifth of the time."""
    return ParsedYaml(json.loads(text))


@contextmanager
def simulated(
    time: Callable[[], float], random: Random, dial: Any, connect_database: Any
) -> Iterator[None]:
    """While it lasts all clocks and dice of master and agents are these.

    Args:
        time: simulated seconds.
        random: of the seed.
        dial: stands for `websockets`' `connect`.
        connect_database: stands for the connection that holds the lead.
    """

    def now() -> datetime:
        return START_AT + timedelta(seconds=time())

    def new_uuid() -> uuid.UUID:
        return uuid.UUID(int=random.getrandbits(128), version=4)

    of_master: dict[str, Any] = {
        "token": lambda: f"{random.getrandbits(256):064x}",
        "new_uuid": new_uuid,
        "seed": lambda: random.randrange(2**31),
        "choice_index": random.randrange,
    }
    with ExitStack() as stack:
        for module in (determined_master.clock, determined_agent.clock):
            stack.enter_context(patch.multiple(module, now=now, monotonic_s=time))
        stack.enter_context(patch.multiple(determined_master.entropy, **of_master))
        stack.enter_context(
            patch.multiple(determined_agent.entropy, new_uuid=new_uuid, jitter=random.random)
        )
        stack.enter_context(patch.object(determined_agent.link.connection, "connect", dial))
        stack.enter_context(patch.object(determined_agent.logs.shipper, "_LATEST_S", _LOG_LOOK_S))
        stack.enter_context(
            patch.object(determined_master.engine.leadership.leader, "connect", connect_database)
        )
        stack.enter_context(patch.object(experiment_configs, "parse_yaml", _read_json))
        yield
