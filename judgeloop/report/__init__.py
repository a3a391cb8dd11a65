"""An outcome in words and figures: for a terminal, for a program, for a page."""
