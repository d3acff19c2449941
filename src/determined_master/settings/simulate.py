"""The options of `determined-master simulate`."""

from __future__ import annotations

import argparse

import msgspec


class SimulateOptions(msgspec.Struct, frozen=True, kw_only=True):
    pool: str = "default"
    since: str = ""
    until: str = ""
    generate: int = 0
    """Tasks to generate at random; 0 replays the recording."""
    seed: int = 0
    policies: tuple[str, ...] = ()
    agents: str = ""
    gang_patience_s: float | None = None
    tick_s: float = 1.0
    json: bool = False


def add_options(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("--pool", default="default", help="the pool whose recording is replayed")
    add(
        "--since",
        default="",
        metavar="TIME",
        help="start of the recording, as 2026-01-31T12:00:00Z",
    )
    add("--until", default="", metavar="TIME", help="end of the recording")
    add(
        "--generate",
        type=int,
        default=0,
        metavar="N",
        help="N random tasks instead of a recording",
    )
    add("--seed", type=int, default=0, help="seed of --generate (default: 0)")
    add(
        "--policy",
        action="append",
        default=[],
        help="may be repeated: words joined by +, of recorded, priority, fair_share, preemption, "
        "best, worst, heterogeneous",
    )
    add("--agents", default="", metavar="COUNTxSLOTS", help="other agents, as 4x8,2x4")
    add("--gang-patience", type=float, metavar="SECONDS", help="another patience")
    add(
        "--tick",
        type=float,
        default=1.0,
        metavar="SECONDS",
        help="seconds between plans (default: 1)",
    )
    add("--json", action="store_true", help="output in JSON format")


def options_of(parsed: argparse.Namespace) -> SimulateOptions:
    return SimulateOptions(
        pool=parsed.pool,
        since=parsed.since,
        until=parsed.until,
        generate=parsed.generate,
        seed=parsed.seed,
        policies=tuple(parsed.policy),
        agents=parsed.agents,
        gang_patience_s=parsed.gang_patience,
        tick_s=parsed.tick,
        json=parsed.json,
    )
