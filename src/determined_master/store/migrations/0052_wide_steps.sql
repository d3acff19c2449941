-- Steps are integers to 2^53 - 1, the largest that JSON's numbers hold exactly. PostgreSQL writes
-- each report once more, with its indexes, and nobody else reads them until the end. There is no
-- cheaper way: steps belong to the key of the partitions. A copy beside the table would take as
-- much room, and longer. Packed steps stay as they are (domain/metrics/steps.py).

-- At once: who has one of them and waits for another one would else undo the work.
LOCK TABLE metrics, metric_extremes, metric_charts, metric_places;

DO $$
DECLARE
    reports bigint;
BEGIN
    SELECT coalesce(sum(greatest(c.reltuples, 0)), 0) INTO reports
      FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid
     WHERE i.inhparent = 'metrics'::regclass;
    IF reports >= 500000 THEN
        RAISE NOTICE 'steps become 64-bit: % million metric reports are written again, which takes some % s and as much disk space as they have; the master waits for it',
            round(reports / 1e6, 1), round(reports / 1e6 * 8);
    END IF;
END $$;

ALTER TABLE metrics ALTER COLUMN steps TYPE bigint;
ALTER TABLE metric_extremes
    ALTER COLUMN first_steps TYPE bigint,
    ALTER COLUMN last_steps TYPE bigint,
    ALTER COLUMN low_steps TYPE bigint,
    ALTER COLUMN high_steps TYPE bigint;
COMMENT ON COLUMN metric_extremes.parts IS
    'of each 64 of those: lowest, its steps, highest, its steps; domain/metrics/extremes.py';
ALTER TABLE metric_charts
    ALTER COLUMN first_steps TYPE bigint,
    ALTER COLUMN last_steps TYPE bigint;
ALTER TABLE metric_places
    ALTER COLUMN first_steps TYPE bigint,
    ALTER COLUMN last_steps TYPE bigint;

-- A column with another type has no statistics until the next ANALYZE.
ANALYZE metrics, metric_extremes, metric_charts, metric_places;
