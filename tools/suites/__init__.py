"""Which suites of tests a change needs, and their runs: `python3 -m tools.suites --help`."""
