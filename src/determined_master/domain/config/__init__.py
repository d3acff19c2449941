"""Users' configurations: sections, defaults, and the merge of layers."""
