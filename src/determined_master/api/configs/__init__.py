"""Routes of config policies, templates and schemas."""
