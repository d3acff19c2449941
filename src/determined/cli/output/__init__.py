"""How `det` prints: tables, CSV, JSON, YAML, progress."""
