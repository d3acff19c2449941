"""Lists: the search language, its columns, paging."""
