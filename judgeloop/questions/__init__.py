"""What a question is, and the questions, a folder each."""
