"""The web UI: its files, its one page, and the data that comes with the page."""
