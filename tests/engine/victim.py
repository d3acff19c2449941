"""A process to be killed: posts a fixed list of events, each under its own cause, and ends.

    python -m tests.engine.victim HOST PASSWORD DATABASE LEDGER AGGREGATES EVENTS MAX PAUSE_S

After each answer it writes the cause to the ledger, as a client that saw the answer would know.
When MAX answers were new it posts nothing more and waits to be killed; 0 stands for no bound.
Each batch of an aggregate's events is followed by a pause of PAUSE_S.
"""

from __future__ import annotations

import asyncio
import sys

from tests.engine import toy
from tests.engine.conftest import make_engine
from tests.engine.toy import TALLY

from determined_master.engine import Outcome
from determined_master.engine.applying.pauses import Pauses
from determined_master.store.db import Address, open_database


class Allowance:
    """How many answers may still be new."""

    def __init__(self, most: int) -> None:
        self._left = most or 10**9

    async def use(self, outcome: Outcome) -> None:
        self._left -= not outcome.is_duplicate
        if self._left <= 0:
            await asyncio.Event().wait()


async def post_events(engine, id: str, events: int, ledger, allowance: Allowance) -> None:
    for n in range(events):
        event = toy.Added(n, echoes=(str(n),), tick_s=0.0 if n == 0 else None)
        outcome = await engine.post(TALLY, id, event, cause=f"request:{n}")
        ledger.write(f"{id} request:{n}\n")
        ledger.flush()
        await allowance.use(outcome)
    await engine.wait_for(TALLY, id, lambda t: t.echoes == events and t.ticks == 1, 60)


async def main() -> None:
    host, password, database, path, aggregates, events, most, pause_s = sys.argv[1:]
    Pauses.after = lambda *_: float(pause_s)  # type: ignore[method-assign]
    allowance = Allowance(int(most))
    address = Address(host, 5432, "determined", password, database)
    pool = await open_database(address, min_size=1, max_size=5)
    with open(path, "a") as ledger:  # noqa: ASYNC230
        async with make_engine(address, pool) as engine:
            await asyncio.gather(
                *(
                    post_events(engine, f"t{n}", int(events), ledger, allowance)
                    for n in range(int(aggregates))
                )
            )
    await pool.close()


if __name__ == "__main__":
    asyncio.run(main())
