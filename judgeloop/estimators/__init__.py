"""What the labels say."""
