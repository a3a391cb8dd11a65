"""The three questions as calls in Python."""
