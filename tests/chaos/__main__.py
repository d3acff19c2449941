"""`python -m tests.chaos`: see docs/chaos.md."""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from itertools import chain

import msgspec
from tests.chaos.counts import KINDS, kind_of
from tests.chaos.instants import VICTIMS, Victim, kill_instants
from tests.chaos.run import MAX_ACTS, Result, run_seed, shortest

_STORY_LINES = 120


class Told(msgspec.Struct, frozen=True):
    """What one worker has to say of one piece of the work."""

    line: str
    events: int = 0
    failure: str = ""
    kinds: tuple[str, ...] = ()
    """Of what was violated."""


def main() -> int:
    """Run histories and kill instants; 1 when anything that must hold did not."""
    args = _parser().parse_args()
    began = time.monotonic()
    seeds = range(args.seed, args.seed + args.seeds)
    events, kinds = 0, Counter[str]()
    with ProcessPoolExecutor(args.jobs) as workers:
        # The longest pieces first.
        pieces = chain(
            workers.map(_instants, VICTIMS, [args.instants] * len(VICTIMS)),
            workers.map(_seed, seeds, [args.events] * len(seeds), [args.acts] * len(seeds)),
        )
        for told in pieces:
            events += told.events
            kinds.update(told.kinds)
            sys.stderr.write(f"{time.monotonic() - began:7.1f} s  {told.line}\n{told.failure}")
            sys.stderr.flush()
    facts = {"seeds": len(seeds), "instants": args.instants, "events": events}
    counted = {kind: kinds[kind] for kind in KINDS}
    took_s = round(time.monotonic() - began, 1)
    sys.stdout.write(json.dumps({**facts, **counted, "seconds": took_s}) + "\n")
    return int(bool(kinds))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tests.chaos", description=__doc__)
    parser.add_argument("--seed", type=int, default=0, help="the first")
    parser.add_argument("--seeds", type=int, default=1, help="how many")
    parser.add_argument("--events", type=int, default=5000, help="of each seed")
    parser.add_argument("--acts", type=int, default=MAX_ACTS, help="only the first of each seed")
    parser.add_argument("--instants", type=int, default=0, help="at which each victim is killed")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="at a time")
    return parser


def _seed(seed: int, events: int, acts: int) -> Told:
    result = run_seed(seed, events=events, acts=acts)
    line = (
        f"seed {seed}: {result.acts} acts, {result.events} events, "
        f"{result.experiments} experiments, {result.simulated_s:.0f} s of its time"
    )
    if not result.violations:
        return Told(line, result.events)
    if acts == MAX_ACTS:
        acts, fewest = shortest(seed, events=events, acts=result.acts + 1)
        # What the collector of cycles brings to light comes when it runs, not again.
        result = fewest if fewest.violations else result
    again = f"python -m tests.chaos --seed {seed} --events {events} --acts {acts}"
    return Told(line, result.events, _failure(result, again), _kinds(result))


def _instants(victim: Victim, count: int) -> Told:
    events = 0
    for at, result in _some(victim, count):
        events += result.events
        if result.violations:
            where = f"{victim} killed at its step {at}"
            return Told(where, events, _failure(result, where), _kinds(result))
    return Told(f"{victim}: killed at {count} instants", events)


def _some(victim: Victim, count: int) -> Iterator[tuple[int, Result]]:
    return kill_instants(victim, count) if count else iter(())


def _kinds(result: Result) -> tuple[str, ...]:
    return tuple(sorted({kind_of(text) for text in result.violations}))


def _failure(result: Result, again: str) -> str:
    story = "\n".join(result.story[-_STORY_LINES:])
    violations = "\n".join(f"VIOLATION: {text}" for text in result.violations[:10])
    return f"{story}\n{violations}\nseed {result.seed}, {result.acts} acts; {again}\n"


if __name__ == "__main__":
    if os.environ.get("PYTHONHASHSEED") != "0":  # else sets of strings have another order
        os.environ["PYTHONHASHSEED"] = "0"
        os.execv(sys.executable, [sys.executable, "-m", "tests.chaos", *sys.argv[1:]])
    sys.exit(main())
