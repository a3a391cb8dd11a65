"""The command line: makes options from settings, prints results, writes files, sets exit codes."""
