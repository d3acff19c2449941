"""Names of workspaces, projects and their Kubernetes namespaces."""
