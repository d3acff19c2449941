"""The agent's settings: their definition, and where they are read from."""
