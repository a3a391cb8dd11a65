"""Readers that turn files into records and check every row."""
