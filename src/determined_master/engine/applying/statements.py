"""The engine's SQL: each statement writes a whole batch in arrays.

All statements run inside a transaction of the leader at READ COMMITTED. The shared advisory lock
of `LOCK` blocks a new leader from raising the epoch. `WRITE` reads the epoch with a later
snapshot, so a transaction of a former leader cannot commit.
"""

EPOCH_LOCK = 0x64657402
"""Shared by every transaction of a leader, exclusive for the process that raises the epoch."""

LOCK = """
    WITH locked AS (
        SELECT a.kind, a.id, a.version, a.born, a.state
          FROM unnest($1::text[], $2::text[]) AS w (kind, id)
          JOIN aggregates a ON a.kind = w.kind AND a.id = w.id
         ORDER BY a.kind, a.id
           FOR UPDATE OF a
    )
    SELECT kind, id, version, born, state, NULL AS cause
      FROM locked
    UNION ALL
    SELECT j.kind, j.id, j.version, NULL, NULL, j.cause
      FROM unnest($3::text[], $4::text[], $5::text[]) AS e (kind, id, cause)
      JOIN locked l ON l.kind = e.kind AND l.id = e.id
     CROSS JOIN LATERAL (
           SELECT posted.kind, posted.id, posted.version, posted.cause
             FROM journal posted
            WHERE posted.born = l.born AND posted.kind = l.kind AND posted.id = l.id
              AND posted.cause >= e.cause AND posted.cause <= e.cause
            ORDER BY posted.cause
            LIMIT 1) j
    UNION ALL
    SELECT NULL, NULL, pg_try_advisory_xact_lock_shared($6)::int, NULL, NULL, NULL
"""
"""Orders by cause, so that the planner uses the index of causes. A plan that was made while the
journal was small might otherwise read all lines of an aggregate by the other index."""

WRITE = """
    WITH made AS (
        INSERT INTO aggregates (kind, id, version, born, state)
        SELECT * FROM unnest($1::text[], $2::text[], $3::bigint[], $4::date[], $5::text[])
    ), saved AS (
        UPDATE aggregates a
           SET version = s.version, state = s.state
          FROM unnest($6::text[], $7::text[], $8::bigint[], $9::text[])
               AS s (kind, id, version, state)
         WHERE a.kind = s.kind AND a.id = s.id
    ), posted AS (
        INSERT INTO journal (born, kind, id, version, cause, event, effects, at)
        SELECT j.*, $17::timestamptz
          FROM unnest($10::date[], $11::text[], $12::text[], $13::bigint[], $14::text[],
                      $15::text[], $16::text[]) AS j
    ), ordered AS (
        INSERT INTO outbox (kind, id, version, n, effect, ordered_at, claimed_epoch)
        SELECT o.*, $17::timestamptz, $23::bigint
          FROM unnest($18::text[], $19::text[], $20::bigint[], $21::int[], $22::text[]) AS o
    ), closed AS (
        DELETE FROM outbox o
         USING unnest($24::text[], $25::text[], $26::bigint[], $27::int[])
               AS c (kind, id, version, n)
         WHERE o.kind = c.kind AND o.id = c.id AND o.version = c.version AND o.n = c.n
    )
    SELECT epoch FROM leader
"""

CLOSE_ONE = """
    DELETE FROM outbox
     WHERE kind = $1 AND id = $2 AND version = $3 AND n = $4
    RETURNING true
"""

CLOSE_MANY = """
    WITH closed AS (
        DELETE FROM outbox o
         USING unnest($1::text[], $2::text[], $3::bigint[], $4::int[])
               AS c (kind, id, version, n)
         WHERE o.kind = c.kind AND o.id = c.id AND o.version = c.version AND o.n = c.n
           AND o.claimed_epoch <= $5
    )
    SELECT epoch FROM leader
"""
"""A transaction of its own; an effect that a later leader has claimed is handed out again."""

LIST_PARTS = """
    SELECT p.kind, p.id, p.part
      FROM unnest($1::text[], $2::text[]) AS w (kind, id)
      JOIN aggregate_parts p ON p.kind = w.kind AND p.id = w.id
     ORDER BY p.kind, p.id, p.n
"""

SET_PARTS = """
    INSERT INTO aggregate_parts (kind, id, n, part)
    SELECT * FROM unnest($1::text[], $2::text[], $3::int[], $4::text[])
        ON CONFLICT (kind, id, n) DO UPDATE SET part = excluded.part
"""

FIND_TIMERS = """
    SELECT t.kind, t.id, t.name, t.version
      FROM unnest($1::text[], $2::text[], $3::text[]) AS w (kind, id, name)
      JOIN timers t ON t.kind = w.kind AND t.id = w.id AND t.name = w.name
"""

SET_TIMERS = """
    INSERT INTO timers (kind, id, name, version, due_at, event)
    SELECT * FROM unnest($1::text[], $2::text[], $3::text[], $4::bigint[],
                         $5::timestamptz[], $6::text[])
        ON CONFLICT (kind, id, name) DO UPDATE
       SET version = excluded.version, due_at = excluded.due_at, event = excluded.event
"""

DROP_TIMERS = """
    DELETE FROM timers t
     USING unnest($1::text[], $2::text[], $3::text[]) AS w (kind, id, name)
     WHERE t.kind = w.kind AND t.id = w.id AND t.name = w.name
"""

SETTLE_INBOX = """
    UPDATE inbox i
       SET done_at = $3, outcome = s.outcome
      FROM unnest($1::bigint[], $2::text[]) AS s (seq, outcome)
     WHERE i.seq = s.seq
"""

ENSURE_PARTITION = """
    CREATE TABLE IF NOT EXISTS journal_{year}_{month:02d}
        PARTITION OF journal FOR VALUES FROM ('{start}') TO ('{end}')
"""
