"""The `det` command: a module or package for each noun, imported only when that noun runs."""
