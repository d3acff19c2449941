"""Settings of machines on demand: `resource_pools[].provider`, by cloud."""
