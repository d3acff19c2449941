"""The version of this package. tests/repo compares it with `pyproject.toml`."""

__version__ = "1.0.0b1"
