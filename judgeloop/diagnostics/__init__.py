"""Checks a judge, explains calls, lists past runs and settles calls of unknown cost."""
