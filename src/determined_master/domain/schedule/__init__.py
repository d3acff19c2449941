"""Which waiting request gets which slots."""
