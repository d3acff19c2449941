"""Clients of object storage: obstore, or the cloud's own library where an image has that one."""
