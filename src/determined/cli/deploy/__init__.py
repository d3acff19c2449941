"""`det deploy`: clusters on this machine, as processes under a supervisor, and on Kubernetes."""
