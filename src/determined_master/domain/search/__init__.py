"""Search methods: which trials to run, and which to stop."""
