"""Access control: permissions, roles, rights, and the one question `may`."""
