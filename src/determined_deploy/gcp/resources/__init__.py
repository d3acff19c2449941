"""The resources of a cluster on GCP: each made, changed and deleted after a look."""
