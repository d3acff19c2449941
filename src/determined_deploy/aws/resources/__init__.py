"""The resources of a cluster's stack on AWS, and what its machines start with."""
