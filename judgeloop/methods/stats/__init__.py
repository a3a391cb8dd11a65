"""Formulas over numbers and arrays: no I/O and no global random state."""
