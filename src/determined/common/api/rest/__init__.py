"""Generated messages and calls, one module a group of routes; import them from `bindings`."""
