"""The docker and podman runtimes: tasks as containers of a daemon."""
