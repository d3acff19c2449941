"""The client: SDK, command line and training harness of Determined."""
