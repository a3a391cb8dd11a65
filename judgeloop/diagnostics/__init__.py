"""Checks a judge, lists past runs, and settles calls of unknown cost."""
