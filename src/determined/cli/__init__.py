"""The `det` command: a file a noun, loaded only when the noun is named."""
