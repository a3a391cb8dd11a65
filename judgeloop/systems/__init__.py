"""Who gives outputs when asked: chat models, commands and functions."""
