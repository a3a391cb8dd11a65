"""Functions of numbers and arrays: no classes, no I/O, no randomness without a generator argument."""
