"""The process runtime: tasks as plain processes under a shim."""
