"""Object storage of S3, Google and Azure."""
