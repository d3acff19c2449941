"""The one entry and the one applier of events; journal, outbox, timers, leadership."""
