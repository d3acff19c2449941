"""Figures of the web UI: a headless Chromium and what it measures in the page."""
