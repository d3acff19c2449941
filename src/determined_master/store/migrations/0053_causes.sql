-- Why an attempt failed: the exception of its program, or its last lines, with a sentence.

ALTER TABLE allocations ADD COLUMN cause jsonb;
