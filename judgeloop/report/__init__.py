"""What the results of all questions share: records, sentences, text, HTML, Markdown and CSV."""
