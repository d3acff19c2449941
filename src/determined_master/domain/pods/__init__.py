"""The demands of Kubernetes' scheduler and admission on pods. PURE."""
