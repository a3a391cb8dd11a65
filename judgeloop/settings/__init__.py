"""A setting is declared once, and read from flags, variables, files and Python."""
