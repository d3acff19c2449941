"""What a user may configure, its defaults, and how layers merge."""
