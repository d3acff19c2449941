"""Parts of real Kubernetes clusters that tests start, end and disturb."""
