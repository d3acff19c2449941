"""The version of this package. A test compares it with `pyproject.toml`."""

__version__ = "0.39.0.dev0"
