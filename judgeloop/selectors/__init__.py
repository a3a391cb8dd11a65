"""Which items to judge next: one strategy a file, one paper a file."""
