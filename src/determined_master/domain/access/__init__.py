"""Access control: permissions, roles, rights, and the check `may`."""
