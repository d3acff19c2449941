"""What runs tasks: agents, and Kubernetes clusters."""
