"""Estimators: what the labels say about the systems."""
