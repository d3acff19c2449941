"""One plain SQL file a migration: `NNNN_subject.sql`, run in the order of the numbers."""
