"""Which items to judge next: one file per selector, and the catalogue of all selectors."""
