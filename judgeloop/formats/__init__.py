"""Files to records: what strangers wrote, checked line by line."""
