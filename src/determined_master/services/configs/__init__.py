"""Use cases of configuration: defaults, policies, templates, YAML."""
