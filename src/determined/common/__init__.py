"""Code shared by the SDK, the CLI and the harness."""
