"""What would have served past comparisons best, and the threshold that they set for a new one."""
