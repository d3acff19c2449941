"""`det deploy`: clusters on this machine, in clouds and on Kubernetes."""
