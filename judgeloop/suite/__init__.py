"""Many questions in one file, asked in one night within one budget."""
