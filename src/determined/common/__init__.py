"""What the SDK, the CLI and the harness share."""
