"""Value types of the configuration schema, and the problems they report."""
