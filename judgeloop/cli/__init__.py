"""The command line: flags to settings, results to a terminal and to files, outcomes to exit codes."""
