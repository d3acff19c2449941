"""What runs tasks: agents now, Kubernetes later."""
