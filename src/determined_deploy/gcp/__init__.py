"""`det deploy gcp`: a cluster in a project of GCP, by the REST APIs of Google."""
