"""One container on its agent: its states, its directory, its environment."""
