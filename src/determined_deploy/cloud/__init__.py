"""Parts that the deployments to AWS and GCP share."""
