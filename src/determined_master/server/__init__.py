"""The HTTP server around the API: sockets, TLS, open files, logging, loop monitor."""
