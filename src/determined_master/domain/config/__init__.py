"""The configuration of users: its sections, its defaults, and how layers merge."""
