"""Rules of an allocation: one gang of containers, from request to end."""
