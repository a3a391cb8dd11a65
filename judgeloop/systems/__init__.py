"""Who gives outputs when they are asked for: chat models, by their providers."""
