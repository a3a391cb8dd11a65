"""The statistics: numbers in, numbers out."""
