"""The version of this package; `pyproject.toml` states the same one and a test compares them."""

__version__ = "0.39.0.dev0"
