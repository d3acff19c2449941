"""What the engine asks of the database."""

from __future__ import annotations

import asyncio
from typing import Any

from tests.chaos.server import Statement, statement
from tests.chaos.tables import Row

_OUTBOX = ("kind", "id", "version", "n")


@statement("engine.applying.transaction._Transaction.lock")
async def lock(s: Statement) -> list[Row]:
    """Lock aggregates by key, look causes up, share the epoch."""
    kinds, ids, of_kind, of_id, causes, _ = s.args
    rows: list[Row] = []
    names = ("kind", "id", "version", "born", "state", "cause")
    for key in sorted(zip(kinds, ids, strict=True)):
        if s.tx.get("aggregates", key) is None:
            continue
        await s.tx.lock("aggregates", key)
        row = s.tx.get("aggregates", key)
        assert row is not None
        values = (*key, row["version"], row["born"], row["state"], None)
        rows.append(dict(zip(names, values, strict=True)))
    for at in zip(of_kind, of_id, causes, strict=True):
        told = s.tx.get("journal", at)
        if told is not None:
            values = (at[0], at[1], told["version"], None, None, at[2])
            rows.append(dict(zip(names, values, strict=True)))
    is_shared = s.server.epoch_owner is None
    if is_shared:
        s.server.epoch_sharers[s.tx] = None
    rows.append(dict(zip(names, (None, None, int(is_shared), None, None, None), strict=True)))
    return rows


@statement("engine.applying.transaction._Transaction.write")
async def write(s: Statement) -> list[Row]:
    """Save states, journal and outbox; or what lies beside states; or settle posted events."""
    if "aggregate_parts" in s.query:
        for kind, id, n, part in zip(*s.args, strict=True):
            await s.tx.delete("aggregate_parts", (kind, id, n))
            await s.tx.insert("aggregate_parts", (kind, id, n), {"part": part})
        return []
    if "inbox" in s.query:
        seqs, outcomes, at = s.args
        for seq, outcome in zip(seqs, outcomes, strict=True):
            await s.tx.update("inbox", seq, done_at=at, outcome=outcome)
        return []
    a = s.args
    for kind, id, version, born, state in zip(*a[0:5], strict=True):
        row = {"version": version, "born": born, "state": state}
        await s.tx.insert("aggregates", (kind, id), row)
    for kind, id, version, state in zip(*a[5:9], strict=True):
        await s.tx.update("aggregates", (kind, id), version=version, state=state)
    for _, kind, id, version, cause, event, effects in zip(*a[9:16], strict=True):
        row = {"version": version, "event": event, "effects": effects, "at": a[16]}
        await s.tx.insert("journal", (kind, id, cause), row)
    for key_and_effect in zip(*a[17:22], strict=True):
        row = {
            "effect": key_and_effect[4],
            "ordered_at": a[16],
            "due_at": None,
            "attempts": 0,
            "claimed_epoch": a[22],
        }
        await s.tx.insert("outbox", key_and_effect[:4], row)
    for key in zip(*a[23:27], strict=True):
        await s.tx.delete("outbox", key)
    return [{"epoch": s.tx.get("leader", "leader")["epoch"]}]  # type: ignore[index]


@statement("engine.applying.transaction._Transaction._join_parts")
async def list_parts(s: Statement) -> list[Row]:
    """What lies beside states."""
    return [
        {"kind": kind, "id": id, "part": part}
        for kind, id in sorted(zip(*s.args, strict=True))
        for part in _parts(s, kind, id)
    ]


@statement("engine.applying.transaction._Transaction._close")
async def close_one(s: Statement) -> list[Row]:
    """Close an effect that has rows with it."""
    return [{"is_first": True}] if await s.tx.delete("outbox", s.args) else []


@statement("engine.applying.closing.close_all")
async def close_many(s: Statement) -> list[Row]:
    """Close effects that no later lead has claimed."""
    *columns, epoch = s.args
    for key in zip(*columns, strict=True):
        row = s.tx.get("outbox", key)
        if row is not None and row["claimed_epoch"] <= epoch:
            await s.tx.delete("outbox", key)
    return [{"epoch": s.tx.get("leader", "leader")["epoch"]}]  # type: ignore[index]


@statement("engine.applying.transaction._Transaction._find_timers")
async def find_timers(s: Statement) -> list[Row]:
    """Timers by their names."""
    found = []
    for at in zip(*s.args, strict=True):
        row = s.tx.get("timers", at)
        if row is not None:
            found.append(_timer(at, row))
    return found


@statement("engine.applying.transaction._Transaction._write_timers")
async def write_timers(s: Statement) -> None:
    """Set timers, or drop them."""
    for row in zip(*s.args, strict=True):
        await s.tx.delete("timers", row[:3])
        if len(row) == 6:
            made = {"version": row[3], "due_at": row[4], "event": row[5]}
            await s.tx.insert("timers", row[:3], made)


@statement("engine.applying.transaction.ensure_partition")
async def ensure_partition(s: Statement) -> None:
    """Rows have one place here."""


@statement("engine.leadership.timers.Timers.run")
async def list_timers(s: Statement) -> list[Row]:
    """The next timers."""
    rows = sorted(s.tx.scan("timers"), key=lambda item: item[1]["due_at"])
    return [
        {**_timer(at, row), "due_at": row["due_at"], "event": row["event"]}
        for at, row in rows[: s.args[0]]
    ]


@statement("engine.leadership.timers.Timers._keep_lengths")
async def shift_timers(s: Statement) -> None:
    """The clock has jumped."""
    for at, row in list(s.tx.scan("timers")):
        await s.tx.update("timers", at, due_at=row["due_at"] + s.args[0])


@statement("engine.applying.applier.Applier._forget_plans")
async def forget_plans(s: Statement) -> None:
    """Nothing is planned here."""


@statement("engine.effects.outbox.Outbox._claim")
async def claim(s: Statement) -> list[Row]:
    """Take effects of earlier leads."""
    after, epoch, limit = tuple(s.args[:4]), s.args[4], s.args[5]
    keys = [k for k, r in s.tx.scan("outbox") if k > after and r["claimed_epoch"] < epoch]
    claimed = []
    for key in sorted(keys)[:limit]:
        row = await s.tx.update("outbox", key, claimed_epoch=epoch)
        if row is not None:
            claimed.append(_effect(key, row))
    return claimed


@statement("engine.effects.outbox.Outbox.sweep")
async def list_old(s: Statement) -> list[Row]:
    """Effects that were ordered long ago."""
    after, before, limit = tuple(s.args[:4]), s.args[4], s.args[5]
    found = [(k, r) for k, r in s.tx.scan("outbox") if k > after and r["ordered_at"] < before]
    return [_effect(key, row) for key, row in sorted(found, key=lambda item: item[0])[:limit]]


@statement("engine.effects.outbox.Outbox._owners")
async def list_states(s: Statement) -> list[Row]:
    """The states of some aggregates."""
    keys = list(zip(*s.args, strict=True))
    rows = {key: s.tx.get("aggregates", key) for key in keys}
    return [{"kind": k[0], "id": k[1], "state": r["state"]} for k, r in rows.items() if r]


@statement("engine.effects.outbox.Outbox.reload")
async def list_of_events(s: Statement) -> list[Row]:
    """Effects of some events."""
    wanted = set(zip(*s.args, strict=True))
    found = [(k, r) for k, r in s.tx.scan("outbox") if k[:3] in wanted]
    return [_effect(key, row) for key, row in sorted(found, key=lambda item: item[0])]


@statement("engine.effects.executor.EffectExecutor._has_given_up")
async def note_failure(s: Statement) -> None:
    """Note that an effect has failed."""
    row = s.tx.get("outbox", s.args[:4])
    if row is not None and row["claimed_epoch"] == s.args[4]:
        await s.tx.update("outbox", s.args[:4], attempts=s.args[5], due_at=s.args[7])


@statement("engine.inbox.InboxClient.post")
async def post_to_inbox(s: Statement) -> list[Row]:
    """Post a row, tell of it, look for its outcome."""
    if s.query.startswith("NOTIFY"):
        s.server.notify(s.query.removeprefix("NOTIFY "))
        return []
    if "INSERT" in s.query:
        seq = s.server.tables.next_number("inbox")
        names = ("kind", "id", "cause", "event", "closes", "posted_at")
        row = dict(zip(names, s.args, strict=True))
        await s.tx.insert("inbox", seq, {**row, "done_at": None, "outcome": None})
        return [{"seq": seq}]
    found = s.tx.get("inbox", s.args[0])
    return [{"outcome": found["outcome"]}] if found and found["done_at"] else []


@statement("engine.inbox.InboxDrain._drain")
async def drain_inbox(s: Statement) -> list[Row]:
    """What waits; refuse what cannot be read; tell of outcomes."""
    if s.query.startswith("NOTIFY"):
        s.server.notify(s.query.removeprefix("NOTIFY "))
        return []
    assert "SELECT" in s.query, "every posted event can be read"
    waiting = sorted((k, r) for k, r in s.tx.scan("inbox") if r["done_at"] is None)
    names = ("kind", "id", "cause", "event", "closes")
    return [{"seq": k, **{n: r[n] for n in names}} for k, r in waiting[: s.args[1]]]


@statement("engine.applying.applier.Applier._refuse")
async def refuse_inbox(s: Statement) -> None:
    """The outcome of an event that was taken out of its transaction."""
    for seq, outcome in zip(s.args[0], s.args[1], strict=True):
        await s.tx.update("inbox", seq, done_at=s.args[2], outcome=outcome)


@statement("engine.leadership.term.LeaderTerm._sweep")
async def delete_old_inbox(s: Statement) -> None:
    """Outcomes that nobody waits for any more."""
    for key, row in list(s.tx.scan("inbox")):
        if row["done_at"] is not None and row["done_at"] < s.args[0]:
            await s.tx.delete("inbox", key)


@statement("engine.engine.Engine._fetch")
async def list_aggregates(s: Statement) -> list[Row]:
    """Some aggregates."""
    rows: list[Row] = []
    for key in zip(*s.args, strict=True):
        row = s.tx.get("aggregates", key)
        if row is not None:
            rows.append({"kind": key[0], "id": key[1], **row, "parts": _parts(s, *key)})
    return rows


@statement("engine.leadership.leader.Leadership._campaign")
async def try_to_lead(s: Statement) -> list[Row]:
    """The lock of the lead belongs to a connection."""
    if s.server.leader is None:
        s.server.leader = s.conn
    return [{"is_mine": s.server.leader is s.conn}]


@statement("engine.leadership.epoch_check.hold_lead")
async def hold_lead(s: Statement) -> list[Row]:
    """Share the epoch unless a leader waits to raise it; then what it is."""
    if "advisory" not in s.query:
        return [{"epoch": s.tx.get("leader", "leader")["epoch"]}]  # type: ignore[index]
    is_shared = s.server.epoch_owner is None
    if is_shared:
        s.server.epoch_sharers[s.tx] = None
    return [{"has_lock": is_shared}]


@statement("engine.leadership.leader._raise_epoch")
async def raise_epoch(s: Statement) -> list[Row]:
    """Wait until nobody shares the epoch, then raise it."""
    if s.query.startswith("SELECT"):
        s.server.epoch_owner = s.tx
        # Whoever shares it tells nobody of its end.
        while any(tx is not s.tx for tx in s.server.epoch_sharers):  # noqa: ASYNC110
            await asyncio.sleep(0.001)
        return []
    row = s.tx.get("leader", "leader")
    assert row is not None
    await s.tx.update("leader", "leader", epoch=row["epoch"] + 1)
    return [{"epoch": row["epoch"] + 1}]


@statement("engine.leadership.leader._watch")
async def beat(s: Statement) -> None:
    """Is the server there?"""


@statement("store.aggregates.list_open_allocations")
async def list_open_allocations(s: Statement) -> list[Row]:
    """State and version of every allocation that is not over."""
    found = []
    for id, row in s.tx.scan("allocations"):
        if row["ended_at"] is None:
            aggregate = s.tx.get("aggregates", ("allocation", id))
            if aggregate is not None:
                known = {name: aggregate[name] for name in ("state", "version")}
                found.append({**known, "parts": _parts(s, "allocation", id)})
    return found


def _parts(s: Statement, kind: str, id: str) -> list[str]:
    found = [
        (at[2], row["part"]) for at, row in s.tx.scan("aggregate_parts") if at[:2] == (kind, id)
    ]
    return [part for _, part in sorted(found)]


def _timer(at: tuple[str, str, str], row: Row) -> Row:
    return {"kind": at[0], "id": at[1], "name": at[2], "version": row["version"]}


def _effect(key: tuple[Any, ...], row: Row) -> Row:
    names = ("effect", "ordered_at", "due_at", "attempts")
    return {**dict(zip(_OUTBOX, key, strict=True)), **{n: row[n] for n in names}}
