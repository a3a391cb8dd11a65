"""Replays past comparisons: the best selector and rule for them, and a threshold for a new run."""
