"""Search methods: decide which trials to run, and which to stop."""
