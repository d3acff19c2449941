"""Who may do what: permissions, roles, rights, and the one question `may`."""
