"""Measures the figures that a release is held to: `python -m bench`, see docs/performance.md."""
