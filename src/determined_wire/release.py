"""Under which name and version this product is released. A test compares with `pyproject.toml`."""

DISTRIBUTION = "determined-platform"
"""Its name in a package index; its packages keep the names that scripts import."""

VERSION = "1.0.0b1"
