"""PostgreSQL: the embedded server, migrations, one module a resource."""
