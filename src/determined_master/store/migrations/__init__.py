"""One plain SQL file a migration, in `versions/`, each beside the revision that orders it."""
