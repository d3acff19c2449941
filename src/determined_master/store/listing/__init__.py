"""Lists that are filtered and sorted in the search language, as SQL."""
