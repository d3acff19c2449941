"""Use cases of task logs: storing, following, policies, retention."""
