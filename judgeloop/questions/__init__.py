"""The questions that can be asked, one a folder."""
