-- A column in the condition of an index counts as indexed: as every report raises the version of
-- its trial's metrics, no update of a trial could stay in its page, and each touched six indexes.
-- Summaries that are stale after a master's death are found by one pass over the trials.

DROP INDEX trials_stale_summary;
