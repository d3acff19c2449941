"""`det deploy local`: a cluster on this machine, as processes under a supervisor."""
