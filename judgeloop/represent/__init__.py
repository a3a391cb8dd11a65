"""Texts to vectors, for selectors that look at outputs before any is judged."""
