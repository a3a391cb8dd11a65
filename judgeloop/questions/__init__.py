"""What a question is, and the three questions, a folder each."""
