"""Turns texts into vectors, for selectors that use outputs or prompts before any verdict."""
