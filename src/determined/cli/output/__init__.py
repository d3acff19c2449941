"""The output of `det`: tables, CSV, JSON, YAML, progress."""
