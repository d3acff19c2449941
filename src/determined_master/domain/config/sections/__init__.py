"""The sections of an experiment's configuration."""
