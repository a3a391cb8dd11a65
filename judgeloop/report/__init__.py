"""What results say, and the forms in which it is shown."""
