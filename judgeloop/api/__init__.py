"""The questions as calls in Python."""
