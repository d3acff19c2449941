"""Lists: the search language, its columns, pages."""
