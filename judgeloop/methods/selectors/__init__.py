"""Which items to judge next, a selector a file."""
