"""`det template` and `det config-policies`, and reading config files."""
