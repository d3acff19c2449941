"""`det experiment` and `det preview-search`."""
